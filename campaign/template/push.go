package template

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/safeopen"
)

// Action is what a push did with one file.
type Action string

// The actions.
const (
	Created   Action = "created"
	Edited    Action = "edited"
	Unchanged Action = "unchanged" // the service has the template as the file says it
	Refused   Action = "refused"   // by the service; the template there is as before
)

// Pushed is what a push did with one file.
type Pushed struct {
	File     string `json:"file"`
	Name     string `json:"name"`
	Language string `json:"language"`
	Action   Action `json:"action"`
	// Status is that at the service after the push; "" if the service has no such template.
	Status string `json:"status"`
	// Error says why the service refused the template.
	Error string `json:"error,omitempty"`
}

// Push creates and edits at the service what differs, one template after the other. A refusal of
// one template does not stop the others. Any other failure does, and the result then has what was
// done before it. A push can be repeated: what is done is unchanged then.
func Push(ctx context.Context, s Service, connection string, all []Comparison) ([]Pushed, error) {
	out := []Pushed{}
	for _, c := range all {
		p := Pushed{File: c.Path, Name: c.Name, Language: c.Language, Action: Unchanged}
		if c.Listed != nil {
			p.Status = c.Listed.Status
		}
		if !c.Same() {
			record, err := c.push(ctx, s, connection)
			var refusal *messaging.Error
			switch {
			case errors.As(err, &refusal) && refuses(refusal):
				p.Action, p.Error = Refused, refusal.Error()+remedyOf(refusal.Code, connection)
			case err != nil:
				return out, fmt.Errorf("%s: %w", c.Path, err)
			case c.Listed == nil:
				p.Action, p.Status = Created, record.Status
			default:
				p.Action, p.Status = Edited, record.Status
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// push creates or edits one template.
func (c *Comparison) push(ctx context.Context, s Service, connection string) (messaging.TemplateRecord, error) {
	category := ""
	if c.Listed != nil && c.Library == "" && c.Category != c.Listed.Category {
		category = c.Category
	}
	if c.Listed != nil && !c.components {
		return s.EditTemplate(ctx, connection, c.Listed.ID, nil, category)
	}
	record := c.TemplateRecord
	if c.Media != "" {
		handle, err := c.upload(ctx, s, connection)
		if err != nil {
			return messaging.TemplateRecord{}, err
		}
		record.Components = slices.Clone(record.Components)
		for i := range record.Components {
			if p := &record.Components[i]; p.Type == "HEADER" {
				p.Example.HeaderHandle = []string{handle}
			}
		}
	}
	switch {
	case c.Listed != nil:
		return s.EditTemplate(ctx, connection, c.Listed.ID, record.Components, category)
	case c.Library != "":
		record.Components = nil
	}
	return s.CreateTemplate(ctx, connection, record, c.Library)
}

// upload stores the file of the header for the reviewer.
func (c *Comparison) upload(ctx context.Context, s Service, connection string) (handle string, err error) {
	folder, format := filepath.Dir(c.Path), ""
	for _, part := range c.Components {
		if part.Type == "HEADER" {
			format = strings.ToLower(part.Format)
		}
	}
	contentType, err := file.CheckMedia(format, folder, c.Media)
	if err != nil {
		return "", err
	}
	f, err := safeopen.Within(folder, c.Media)
	if err != nil {
		return "", err
	}
	handle, err = s.UploadHeader(ctx, connection, filepath.Base(c.Media), contentType, f)
	return handle, errors.Join(err, f.Close())
}

// refuses reports whether an answer is about the one template: another template may be accepted.
func refuses(e *messaging.Error) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return true
	}
	return e.Code == "business_not_verified"
}

// remedyOf is the remedy for a refusal; "" if its message says enough.
func remedyOf(code, connection string) string {
	switch code {
	case "template_exists":
		return "; its listing is behind: `campaignd templates sync --connection " + connection + "`, then push again"
	case "template_name_blocked":
		return "; the name was deleted in the last 30 days: choose another name"
	case "template_not_editable":
		return "; only an approved, rejected or paused template can be edited, and never the category of an approved one"
	case "template_edit_limit":
		return "; an approved template is edited once in 24 hours and 10 times in 30 days: push again later, or choose another name"
	case "business_not_verified":
		return "; verify the business at the service first"
	}
	return ""
}

// EndsApproval reports whether a push edits an approved template, which is reviewed again then.
func (c *Comparison) EndsApproval() bool {
	return c.Listed != nil && c.Listed.Status == "APPROVED" && !c.Same()
}

// Runs lists runs.
type Runs interface {
	Runs(ctx context.Context, f campaign.RunFilter) ([]campaign.Run, error)
}

// StoppedBy returns the unfinished runs that a push would stop, the newest first. An edit of an
// approved template has it reviewed again, and meanwhile its messages are refused. connections are
// the connections of the account whose templates are pushed.
func StoppedBy(ctx context.Context, l Runs, connections []string, all []Comparison) ([]campaign.Run, error) {
	edited := func(r campaign.Run) bool {
		return slices.ContainsFunc(all, func(c Comparison) bool {
			return c.EndsApproval() && r.Template == c.Name && messaging.FoldLanguage(r.Language) == c.Language
		})
	}
	runs, err := l.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return slices.DeleteFunc(runs, func(r campaign.Run) bool {
		return r.State.Ended() || r.Wanted == campaign.WantCancel || !edited(r) || !sendsOver(r, connections)
	}), nil
}

// sendsOver reports whether a run uses one of the connections. A run whose campaign this version
// cannot read may.
func sendsOver(r campaign.Run, connections []string) bool {
	d, err := file.ParseStored(r.Campaign, r.Definition)
	return err != nil || slices.ContainsFunc(d.Connections, func(c string) bool { return slices.Contains(connections, c) })
}
