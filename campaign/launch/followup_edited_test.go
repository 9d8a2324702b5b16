package launch_test

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// A follow-up run sends the values of the run that it follows up. If the template was edited since
// the first launch, they may not fit.
func TestAFollowUpOfAnEditedTemplateIsHeld(t *testing.T) {
	const template = "acc/hello_world/en_US"
	ago := func(seconds int) time.Time { return time.Now().Add(-time.Duration(seconds) * time.Second) }
	pending := func(id, reason string, at time.Time) campaign.Hold {
		return campaign.Hold{Scope: campaign.HoldTemplate, ID: id, Reason: reason, Source: campaign.HoldByEvent, Since: at}
	}
	approved := campaign.Lift{Scope: campaign.HoldTemplate, ID: template, At: ago(1), ReceivedAt: ago(1), By: campaign.HoldByEvent}
	operator := func(run campaign.Run, at time.Time) campaign.Lift {
		return campaign.Lift{Scope: campaign.HoldRun, ID: run.ID(), At: at, By: campaign.HoldByOperator, Who: "ada"}
	}
	for about, c := range map[string]struct {
		holds func(parent campaign.Run) []campaign.Hold
		lifts func(parent campaign.Run) []campaign.Lift
		late  []campaign.Hold // after the lifts
		want  bool
	}{
		"no edit": {},
		"an edit before the launch": {holds: func(p campaign.Run) []campaign.Hold {
			return []campaign.Hold{pending(template, "PENDING", p.CreatedAt.Add(-time.Minute))}
		}},
		"an edit, approved": {holds: func(campaign.Run) []campaign.Hold { return []campaign.Hold{pending(template, "PENDING", ago(2))} },
			lifts: func(campaign.Run) []campaign.Lift { return []campaign.Lift{approved} }, want: true},
		"an edit of a template that was paused": {holds: func(campaign.Run) []campaign.Hold {
			return []campaign.Hold{pending(template, "PAUSED", ago(3)), pending(template, "PENDING", ago(2))}
		}, lifts: func(campaign.Run) []campaign.Lift { return []campaign.Lift{approved} }, want: true},
		"an edit that is told after its approval": {lifts: func(campaign.Run) []campaign.Lift { return []campaign.Lift{approved} },
			late: []campaign.Hold{pending(template, "PENDING", ago(2))}, want: true},
		"a pause that is told after its end": {lifts: func(campaign.Run) []campaign.Lift { return []campaign.Lift{approved} },
			late: []campaign.Hold{pending(template, "PAUSED", ago(2))}},
		"a pause": {holds: func(campaign.Run) []campaign.Hold { return []campaign.Hold{pending(template, "PAUSED", ago(2))} }},
		"an edit in another language": {holds: func(campaign.Run) []campaign.Hold {
			return []campaign.Hold{pending("acc/hello_world/de", "PENDING", ago(2))}
		}},
		"an operator compared the values": {holds: func(p campaign.Run) []campaign.Hold {
			return []campaign.Hold{pending(template, "PENDING", ago(3)), campaign.EditedHold(p, ago(3))}
		}, lifts: func(p campaign.Run) []campaign.Lift { return []campaign.Lift{operator(p, ago(2))} }},
		"an edit after the operator compared": {holds: func(p campaign.Run) []campaign.Hold {
			return []campaign.Hold{pending(template, "PENDING", ago(3)), campaign.EditedHold(p, ago(3)), pending(template, "PENDING", ago(1))}
		}, lifts: func(p campaign.Run) []campaign.Lift { return []campaign.Lift{operator(p, ago(2))} }, want: true},
	} {
		l, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed})
		if c.holds != nil {
			if _, err := l.AddHolds(t.Context(), c.holds(parent)); err != nil {
				t.Fatal(err)
			}
		}
		if c.lifts != nil {
			if _, err := l.LiftHolds(t.Context(), c.lifts(parent)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.AddHolds(t.Context(), c.late); err != nil {
			t.Fatal(err)
		}
		first, err := follow(l, parent, "failed")
		if err != nil {
			t.Fatal(err)
		}
		wantHeld(t, about, l, first, c.want)
		// A follow-up of the follow-up has the values of the first launch, too.
		if _, err := l.SetState(t.Context(), first.Run.No, []campaign.State{campaign.Ready}, campaign.Finished, "", ""); err != nil {
			t.Fatal(err)
		}
		if first.Run, err = l.Run(t.Context(), first.Run.No); err != nil {
			t.Fatal(err)
		}
		of := &fixedRows{l.Ledger, first.Run.No, l.lines}
		second, err := follow(of, first.Run, "failed")
		if err != nil {
			t.Fatal(err)
		}
		wantHeld(t, about+", its second follow-up", l, second, c.want)
	}
}

// wantHeld looks whether a follow-up run is held because of an edit, and none other.
func wantHeld(t *testing.T, about string, l campaign.Ledger, f launch.FollowedUp, want bool) {
	t.Helper()
	holds, err := l.Holds(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	got := false
	for _, h := range holds {
		got = got || h.Scope == campaign.HoldRun && h.ID == f.Run.ID() && h.Reason == campaign.TemplateEdited && h.Manual
	}
	if got != want || f.Run.State != campaign.Ready {
		t.Errorf("%s: got %s %s and held %v, want it ready and held %v", about, f.Run.ID(), f.Run.State, got, want)
	}
}
