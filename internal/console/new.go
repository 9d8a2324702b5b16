package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
)

// The steps of a new campaign. Each has its own address, which names the draft.
const (
	stepTemplate = iota + 1
	stepList
	stepColumns
	stepCheck
	stepSend
)

var stepNames = []string{"Campaign", "List", "Columns", "Check", "Send"}

// draftView is what each step of a new campaign shows.
type draftView struct {
	Draft campaign.Draft
	Path  string // of the draft
	Step  int
	Name  string
}

// Title implements titled.
func (v draftView) Title() string { return v.Name + ", new campaign" }

// stepLink is a step as the page shows it: a link to one that was done.
type stepLink struct {
	Name, Path    string
	Done, Current bool
}

// Steps are all steps.
func (v draftView) Steps() (all []stepLink) {
	for i, path := range []string{"", "/list", "/columns", "/check", "/send"} {
		s := stepLink{Name: stepNames[i], Done: i+1 < v.Step, Current: i+1 == v.Step}
		if s.Done && path != "" {
			s.Path = v.Path + path
		} else if s.Done {
			s.Path = "/console/new"
		}
		all = append(all, s)
	}
	return all
}

func draftPath(id string) string { return "/console/new/" + url.PathEscape(id) }

func (v *visit) draftView(dr campaign.Draft, step int, name string) draftView {
	return draftView{dr, draftPath(dr.ID), step, name}
}

// draft reads the draft of the address.
func (v *visit) draft() (campaign.Draft, error) {
	dr, err := v.d.Draft(v.r.Context(), v.r.PathValue("draft"))
	if errors.Is(err, campaign.ErrNoDraft) {
		return dr, &problem{http.StatusNotFound, "There is no such draft. A draft is kept for a day, for the key that began it."}
	}
	return dr, err
}

// step is the page of a step. A draft that was sent leads to its run, and one without a list to the
// page that takes it.
func step(number int, show func(v *visit, dr campaign.Draft) (any, error)) func(*visit) (any, error) {
	return func(v *visit) (any, error) {
		dr, err := v.draft()
		if err != nil {
			return nil, err
		}
		to := ""
		switch {
		case dr.Run != "":
			to = runPath(dr.Run)
		case dr.ListName == "" && number > stepList:
			to = draftPath(dr.ID) + "/list"
		}
		if to != "" {
			http.Redirect(v.w, v.r, to, http.StatusSeeOther)
			return nil, nil //nolint:nilnil // it has answered
		}
		return show(v, dr)
	}
}

// stepDone is the form of a step. A draft that was sent stays as it is.
func stepDone(do func(v *visit, dr campaign.Draft) (done, error)) func(*visit) (done, error) {
	return func(v *visit) (done, error) {
		dr, err := v.draft()
		if err != nil {
			return done{}, err
		}
		if dr.Run != "" {
			return sentBefore(dr), nil
		}
		return do(v, dr)
	}
}

// sentBefore leads to the run of a draft that was sent.
func sentBefore(dr campaign.Draft) done {
	return done{to: runPath(dr.Run), said: "It was sent before, and this is its run."}
}

// ofList shows what is made of the list of a draft.
func ofList(show func(v *visit, dr campaign.Draft, x *operator.Prepared) (any, error)) func(*visit) (any, error) {
	return func(v *visit) (any, error) {
		dr, err := v.draft()
		if err != nil {
			return nil, err
		}
		x, err := v.process.Prepare(v.r.Context(), dr)
		if err != nil {
			return nil, err
		}
		defer x.End()
		return show(v, dr, x)
	}
}

// newView is the page on which a new campaign begins.
type newView struct {
	Campaigns []resource.Campaign
	Drafts    []campaign.Draft
	Templates templatesView
	Closed    bool // this process sends nothing
}

func newCampaign(v *visit) (any, error) {
	out := newView{Closed: v.process.Launch == nil}
	files, err := v.process.Folder()
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f operator.File) bool { return !takesList(f.Definition) })
	if out.Campaigns, err = v.d.Campaigns(v.r.Context(), files); err != nil {
		return nil, err
	}
	if !out.Closed {
		out.Templates = templates(v)
	}
	out.Drafts, err = v.d.Drafts(v.r.Context())
	return out, err
}

// takesList reports whether a campaign can be sent to a list that is uploaded.
func takesList(d *file.Definition) bool { return d != nil && d.Audience == nil }

func beginDraft(v *visit) (done, error) {
	files, err := v.process.Folder()
	if err != nil {
		return done{}, err
	}
	var f operator.File
	if v.form.Get("template") != "" {
		f, err = v.templateFile(files)
	} else {
		f, _, err = v.d.Campaign(v.r.Context(), files, v.form.Get("campaign"))
	}
	if err != nil {
		return done{}, err
	}
	if !takesList(f.Definition) {
		return done{}, &problem{http.StatusConflict, "The list of this campaign is made from orders, so none is uploaded."}
	}
	dr, err := v.d.NewDraft(v.r.Context(), f)
	return done{to: draftPath(dr.ID) + "/list"}, err
}

// campaignFile is the campaign as a file, with the columns that were chosen.
func campaignFile(v *visit) (any, error) {
	dr, err := v.draft()
	if err != nil {
		return nil, err
	}
	v.w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	v.w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", dr.Campaign+".yaml"))
	_, _ = v.w.Write(dr.Source) // the browser has gone
	return nil, nil             //nolint:nilnil // it has answered
}
