package ledgertest

import (
	"strings"

	"campaignd/campaign"
)

var templatePromises = []promise{
	{"ATemplateThatIsPausedPausesItsRuns", func(f *fixture) {
		r := f.imported(2)
		other := f.imported(1, func(r *campaign.Run) { r.Template = "other" })
		german := f.imported(1, func(r *campaign.Run) { r.Language = "de" })
		l := f.lease(r.No, long)
		tell := func(e campaign.TemplateEvent) {
			e.Name, e.Language = "sale", "en_US"
			_, err := f.l.Apply(f.ctx, campaign.Events{Templates: []campaign.TemplateEvent{e}})
			f.ok(err)
		}
		tell(campaign.TemplateEvent{Event: "FLAGGED"})
		f.sent(l, 0, 1)
		tell(campaign.TemplateEvent{Event: "PAUSED", Reason: "low quality"})
		got := f.run(r.No)
		if got.State != campaign.Paused || got.Reason != campaign.PausedByTemplate || got.Detail == "" {
			f.Errorf(`got %+v; want State Paused, Reason PausedByTemplate, Detail other than ""`, got)
		}
		if g := f.intend(intent(l, 1, 2)); !g.Held {
			f.Errorf("got %+v; want Held", g)
		}
		if f.run(other.No).State != campaign.Ready || f.run(german.No).State != campaign.Ready {
			f.Error("runs of other templates were paused")
		}
		tell(campaign.TemplateEvent{Event: "APPROVED"})
		if got := f.run(r.No); got.State != campaign.Ready || got.Reason != "" {
			f.Errorf(`approved again: %+v; want State Ready, Reason ""`, got)
		}
	}},
	{"EveryTemplateEventHasItsEffect", func(f *fixture) {
		// The table has the state of a ready run after each event, and after an approval that follows.
		for _, c := range []struct {
			event         string
			state, healed campaign.State
		}{
			{"APPROVED", campaign.Ready, campaign.Ready},
			{"REINSTATED", campaign.Ready, campaign.Ready},
			{"FLAGGED", campaign.Ready, campaign.Ready},
			{"LOCKED", campaign.Ready, campaign.Ready},
			{"LIMIT_EXCEEDED", campaign.Ready, campaign.Ready},
			{"NEVER_HEARD_OF", campaign.Ready, campaign.Ready},
			{"PAUSED", campaign.Paused, campaign.Ready},
			{"PENDING", campaign.Paused, campaign.Ready},
			{"IN_APPEAL", campaign.Paused, campaign.Ready},
			{"REJECTED", campaign.Paused, campaign.Ready},
			{"ARCHIVED", campaign.Paused, campaign.Ready},
			{"DISABLED", campaign.Paused, campaign.Paused},
			{"PENDING_DELETION", campaign.Paused, campaign.Paused},
			{"DELETED", campaign.Paused, campaign.Paused},
		} {
			r := f.imported(1, func(r *campaign.Run) { r.Template = strings.ToLower(c.event) })
			tell := func(event string) campaign.Run {
				_, err := f.l.Apply(f.ctx, campaign.Events{Templates: []campaign.TemplateEvent{
					{Name: r.Template, Language: r.Language, Event: event, Reason: "WHY"}}})
				f.ok(err)
				return f.run(r.No)
			}
			got := tell(c.event)
			if got.State != c.state {
				f.Errorf("after %s the run is %s, want %s", c.event, got.State, c.state)
			}
			if want := "template " + r.Template + " (en_US) is " + c.event + ": WHY"; c.state == campaign.Paused && got.Detail != want {
				f.Errorf("after %s the detail is %q, want %q", c.event, got.Detail, want)
			}
			if got := tell("APPROVED"); got.State != c.healed {
				f.Errorf("approved after %s the run is %s, want %s", c.event, got.State, c.healed)
			}
		}
	}},
	{"ALaterPauseKeepsADisabledTemplateSo", func(f *fixture) {
		r := f.imported(1)
		tell := func(event string) campaign.Run {
			_, err := f.l.Apply(f.ctx, campaign.Events{Templates: []campaign.TemplateEvent{{Name: r.Template, Language: r.Language, Event: event}}})
			f.ok(err)
			return f.run(r.No)
		}
		for _, event := range []string{"PAUSED", "DISABLED", "IN_APPEAL", "APPROVED", "UNPAUSED", "REINSTATED", "UNARCHIVED"} {
			want := campaign.Paused
			if got := tell(event); got.State != want {
				f.Errorf("after %s the run is %s, want %s", event, got.State, want)
			}
		}
		if got, want := f.run(r.No).Detail, "template sale (en_US) is DISABLED"; got != want {
			f.Errorf("detail = %q, want %q", got, want)
		}
		_, err := f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Paused}, campaign.Ready, "", "")
		f.ok(err)
		for _, event := range []string{"UNPAUSED", "REINSTATED", "UNARCHIVED"} { // the operator's resume ends the DISABLED
			if got, want := tell("PAUSED").State, campaign.Paused; got != want {
				f.Errorf("after PAUSED the run is %s, want %s", got, want)
			}
			if got, want := tell(event).State, campaign.Ready; got != want {
				f.Errorf("after %s the run is %s, want %s", event, got, want)
			}
		}
	}},
	{"AnApprovalLeavesOtherPausesAlone", func(f *fixture) {
		r := f.imported(1)
		_, err := f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByOperator, "")
		f.ok(err)
		for _, e := range []campaign.TemplateEvent{{Event: "PAUSED"}, {Event: "APPROVED"}} {
			e.Name, e.Language = "sale", "en_US"
			_, err = f.l.Apply(f.ctx, campaign.Events{Templates: []campaign.TemplateEvent{e}})
			f.ok(err)
		}
		if got := f.run(r.No); got.State != campaign.Paused || got.Reason != campaign.PausedByOperator {
			f.Errorf("got %+v; want State Paused, Reason PausedByOperator", got)
		}
	}},
}
