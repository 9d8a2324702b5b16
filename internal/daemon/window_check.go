package daemon

import (
	"fmt"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/sentence"
)

// CheckWindow says in found whether the campaign may send now, if it has a window.
func CheckWindow(d *file.Definition, found *launch.Preflight, now time.Time) error {
	if d.Window == nil || found.Sendable == 0 {
		return nil
	}
	w, o, err := openingOf(d, found, now)
	if err != nil {
		return err
	}
	found.Window = &launch.WindowCheck{Window: w.String(), Open: o.Open, Closed: o.Closed, Begins: o.Opens}
	if o.Open > 0 {
		found.Window.Begins = now.UTC()
	}
	found.Window.Sentence = windowSentence(o)
	if d.Policies.Approval.Needed(found.Sendable) && !found.Window.Begins.IsZero() {
		found.Window.Sentence += ", after `campaignd approve`"
	}
	return nil
}

// openingOf returns the window of a campaign, nil if it has none, and which of its sendable rows
// may be sent at an instant.
func openingOf(d *file.Definition, found *launch.Preflight, at time.Time) (w *plan.Window, o plan.Opening, err error) {
	if d.Window != nil {
		if w, err = plan.ParseWindow(*d.Window); err != nil {
			return nil, o, err
		}
	}
	var groups []plan.Group
	for name, rows := range found.Zones {
		zones, err := plan.Zones(name)
		if err != nil {
			return nil, o, err
		}
		groups = append(groups, plan.Group{Remaining: rows, Zones: zones})
	}
	return w, plan.OpeningAt(at, w, groups...), nil
}

// windowSentence says when sending would begin, in the zone of the window.
func windowSentence(o plan.Opening) string {
	local := func(t time.Time) string { return t.In(o.Zone).Format("Mon 2006-01-02 15:04 MST") }
	part := fmt.Sprintf("open for %d of %s", o.Open, sentence.Count(o.Open+o.Closed, "recipient", "recipients"))
	switch {
	case o.Open == 0 && o.Opens.IsZero():
		return "closed, and it does not open within a year"
	case o.Open == 0:
		return "closed; sending would begin " + local(o.Opens)
	case o.Closed > 0 && o.Opens.IsZero():
		return part + ", and it does not open for the others within a year; sending would begin now"
	case o.Closed > 0:
		return part + ", for the next from " + local(o.Opens) + "; sending would begin now"
	case o.Closes.IsZero():
		return "always open; sending would begin now"
	}
	return "open until " + local(o.Closes) + "; sending would begin now"
}
