package area

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// review lets the operator decide about a template after Review.After.
func (a *Areas) review(r *Record, now time.Time) {
	after := cmp.Or(a.Review.After, 2*time.Second)
	r.reviews++
	this := r.reviews
	a.At(now.Add(after), func(time.Time) {
		if r.reviews != this || r.gone { // the control path, a later edit or a deletion came first
			return
		}
		if category := strings.ToUpper(a.Review.Category[r.Name]); category != "" {
			r.Category = category
		}
		r.Status = "APPROVED"
		title := "NONE"
		if reason := a.Review.Reject[r.Name]; reason != "" && !r.refused {
			r.refused, r.Status, r.Reason, title = true, "REJECTED", reason, reason
		}
		r.learn()
		a.tell(r, r.Status, title)
	})
}

// SetTemplate changes the state of a template at the platform, for every client that has it, and
// posts template.status. An empty language means every language. The status is a state of a
// template, or deleted. If silent, the service neither posts nor learns it before the next sync.
func (a *Areas) SetTemplate(name, language, status string, silent bool, now time.Time) error {
	event := strings.ToUpper(status)
	if event != "DELETED" && !slices.Contains(templateStatuses, event) {
		return fmt.Errorf("sandbox: template status %q is not approved, paused, disabled, rejected, pending or deleted", status)
	}
	found := false
	for _, r := range slices.Clone(a.templates.all) {
		if r.Name != name || language != "" && r.Language != language || r.gone {
			continue
		}
		found = true
		before := r.Status
		r.reviews++
		title := "NONE"
		switch {
		case event == "PAUSED":
			title = "FIRST_PAUSE"
		case event == "APPROVED" && before == "PAUSED":
			title = "UNPAUSE"
		}
		if event == "DELETED" {
			a.remove(r, now)
		} else {
			r.Status = event
			r.Reason = ""
			if event == "REJECTED" {
				r.Reason = "INVALID_FORMAT"
			}
		}
		if silent {
			continue
		}
		r.learn()
		a.tell(r, event, title)
		if r.gone {
			a.dropTemplate(r)
		}
	}
	if !found {
		return fmt.Errorf("sandbox: no template %q in language %q", name, language)
	}
	return nil
}

// tell posts template.status. Webhooks contain en-US where sends contain en_US
// (docs/service.md#template-events).
func (a *Areas) tell(r *Record, event, reason string) {
	hyphen := strings.ReplaceAll(r.Language, "_", "-")
	data := fmt.Appendf(nil, `{"name":%s,"language":%q,"event":%q,"category":%q,"reason":%s}`,
		quoted(r.Name), hyphen, event, r.Category, quoted(reason))
	value := fmt.Appendf(nil, `{"event":%q,"message_template_id":%d,"message_template_name":%s,"message_template_language":%q,`+
		`"reason":"NONE","message_template_category":%q,"other_info":{"title":%s,"description":"Changed in the sandbox."}}`,
		event, r.PlatformID(), quoted(r.Name), hyphen, r.Category, quoted(reason))
	a.Post(Event{Type: "template.status", Company: r.Company, Connection: a.firstOf(r.Company),
		Data: data, Field: "message_template_status_update", Value: value})
}
