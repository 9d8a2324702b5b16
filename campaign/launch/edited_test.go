package launch_test

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
)

// A launch checks the template, and then reads a list for minutes. The event of an edit that comes
// meanwhile finds no run.
func TestAnEditDuringTheCheckHoldsTheRun(t *testing.T) {
	pending := func(account string, before time.Duration) campaign.Hold {
		return campaign.Hold{Scope: campaign.HoldTemplate, ID: campaign.TemplateID(account, "spring_sale", "en_US"),
			Reason: campaign.TemplateInReview, Source: campaign.HoldByEvent, Since: time.Now().Add(-before)}
	}
	for about, c := range map[string]struct {
		account  string
		before   time.Duration // when it was edited, before the check
		during   bool          // the events come during the check
		approved bool
		want     bool
	}{
		"an edit before the check, approved":           {account: "conn_1", before: time.Minute, approved: true},
		"an edit during the check, approved":           {account: "conn_1", during: true, approved: true, want: true},
		"an edit before the check, told during it":     {account: "conn_2", before: time.Minute, during: true, approved: true},
		"an edit before the check, in review":          {account: "conn_1", before: time.Hour, want: true},
		"an edit at an account that is not known":      {account: "acc", before: time.Hour, want: true},
		"an edit at every account":                     {account: "", during: true, approved: true, want: true},
		"an edit at the account of another connection": {account: "acc_3", during: true},
	} {
		r := newRelaunch(t)
		l := r.of("list.csv", springList, "")
		s := service()
		s.connections = append(s.connections, messaging.Connection{ID: "conn_3", AccountID: "acc_3", Phone: "+2348031234597"})
		l.Service = s
		tell := func() {
			h := pending(c.account, c.before)
			if _, err := r.ledger.AddHolds(t.Context(), []campaign.Hold{h}); err != nil {
				t.Error(err)
			}
			lift := campaign.Lift{Scope: h.Scope, ID: h.ID, At: h.Since.Add(time.Millisecond), By: campaign.HoldByEvent}
			if c.approved {
				if _, err := r.ledger.LiftHolds(t.Context(), []campaign.Lift{lift}); err != nil {
					t.Error(err)
				}
			}
		}
		if !c.during {
			tell()
		}
		l.Checked = func(*launch.Preflight) {
			if c.during {
				tell()
			}
		}
		out, err := l.Start(t.Context())
		if err != nil {
			t.Fatalf("%s: got %v, want a run", about, err)
		}
		wantHeld(t, about, r.ledger, launch.FollowedUp{Run: out.Run}, c.want)
	}
}
