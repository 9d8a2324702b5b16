package ledgertest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// note stores a firing and says whether its outcome changed.
func (f *fixture) note(firing campaign.Firing) bool {
	f.Helper()
	changed, err := f.l.NoteFiring(f.ctx, firing)
	f.ok(err)
	return changed
}

// firings reads the firings that the filter selects.
func (f *fixture) firings(filter campaign.FiringFilter) []campaign.Firing {
	f.Helper()
	all, err := f.l.Firings(f.ctx, filter)
	f.ok(err)
	return all
}

var firingPromises = []promise{
	{"AFiringKeepsItsFinalOutcome", func(f *fixture) {
		at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		firing := campaign.Firing{Campaign: "spring", Key: "2026-03-02T09:00", At: at, Missed: 7, MissedSince: at.Add(-7 * time.Hour),
			Since: at.Add(time.Second), Outcome: campaign.FiringWaiting, Detail: "spring-1 is running"}
		if !f.note(firing) || f.note(firing) {
			f.Error("a firing that was noted twice: want a change at first only")
		}
		firing.Outcome, firing.Since, firing.Detail = campaign.FiringLaunching, at.Add(time.Minute), ""
		if !f.note(firing) {
			f.Error("waiting to launching: got no change, want one")
		}
		firing.Detail = "the service does not answer"
		if f.note(firing) {
			f.Error("another detail: got a change of the outcome, want none")
		}
		firing.Outcome, firing.Run = campaign.FiringLaunched, 3
		if !f.note(firing) {
			f.Error("launching to launched: got no change, want one")
		}
		late := firing
		late.Outcome, late.Run, late.Detail = campaign.FiringFailed, 0, "too late"
		if f.note(late) {
			f.Error("a final outcome changed, want it kept")
		}
		if diff := cmp.Diff([]campaign.Firing{firing}, f.firings(campaign.FiringFilter{Campaign: "spring"})); diff != "" {
			f.Errorf("firings -want +got:\n%s", diff)
		}
	}},
	{"FiringsToComeLeaveThePresentOnes", func(f *fixture) {
		missed := func(key string, at time.Time) {
			f.Helper()
			f.note(campaign.Firing{Campaign: "spring", Key: key, At: at, Outcome: campaign.FiringMissed})
		}
		now, err := f.l.Clock(f.ctx)
		f.ok(err)
		for i := range ledger.FiringsKept { // a clock was ahead for long
			missed(fmt.Sprint("ahead", i), now.Add(time.Hour+time.Duration(i)*time.Minute))
		}
		missed("last", now.Add(-time.Minute))
		missed("first", now.Add(-time.Duration(ledger.FiringsKept+1)*time.Minute))
		if got := len(f.firings(campaign.FiringFilter{Campaign: "spring", Until: now})); got != 2 {
			f.Errorf("beside %d firings to come: %d are kept, want the 2 whose time has come", ledger.FiringsKept, got)
		}
		for i := 2; i <= ledger.FiringsKept; i++ {
			missed(fmt.Sprint("past", i), now.Add(-time.Duration(i)*time.Minute))
		}
		past := f.firings(campaign.FiringFilter{Campaign: "spring", Until: now})
		if n := len(past); n != ledger.FiringsKept || past[0].Key != "last" || past[n-1].Key == "first" {
			f.Errorf("%d firings whose time has come, from %s to %s; want the newest %d", n, past[0].Key, past[n-1].Key, ledger.FiringsKept)
		}
	}},
	{"TheLastMissedFiringIsOfAnyCampaign", func(f *fixture) {
		latest := func(want time.Time) {
			f.Helper()
			if got, err := f.l.LastMissed(f.ctx); err != nil || !got.Equal(want) {
				f.Errorf("the last missed firing: got %s (%v), want %s", got, err, want)
			}
		}
		latest(time.Time{})
		at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		for i, outcome := range []campaign.FiringOutcome{campaign.FiringFailed, campaign.FiringMissed, campaign.FiringSkipped,
			campaign.FiringLaunched, campaign.FiringLaunching, campaign.FiringAdded} {
			since := at.Add(time.Duration(i) * time.Hour)
			f.note(campaign.Firing{Campaign: fmt.Sprint("c", i), Key: "k", At: at.Add(-since.Sub(at)), Since: since, Outcome: outcome})
			latest(at.Add(time.Duration(min(i, 1)) * time.Hour))
		}
	}},
	{"FiringsAreReadNewestFirst", func(f *fixture) {
		at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		for i, outcome := range []campaign.FiringOutcome{campaign.FiringWaiting, campaign.FiringSkipped, campaign.FiringLaunching,
			campaign.FiringMissed} {
			f.note(campaign.Firing{Campaign: "spring", Key: fmt.Sprint("k", i), At: at.Add(time.Duration(i) * time.Hour), Outcome: outcome})
		}
		f.note(campaign.Firing{Campaign: "spring", Key: "mark", At: at.Add(time.Hour), Outcome: campaign.FiringAdded})
		f.note(campaign.Firing{Campaign: "summer", Key: "k", At: at, Outcome: campaign.FiringWaiting})
		for _, tt := range []struct {
			filter campaign.FiringFilter
			want   []string
		}{
			{campaign.FiringFilter{Campaign: "spring"}, []string{"k3", "k2", "k1", "k0"}},
			{campaign.FiringFilter{Campaign: "spring", Limit: 2}, []string{"k3", "k2"}},
			{campaign.FiringFilter{Campaign: "spring", Open: true}, []string{"k2", "k0"}},
			{campaign.FiringFilter{Campaign: "spring", Open: true, Limit: 1}, []string{"k2"}},
			{campaign.FiringFilter{Campaign: "spring", Outcome: campaign.FiringMissed}, []string{"k3"}},
			{campaign.FiringFilter{Campaign: "spring", Key: "k1"}, []string{"k1"}},
			{campaign.FiringFilter{Campaign: "spring", Outcome: campaign.FiringMissed, Key: "k1"}, nil},
			{campaign.FiringFilter{Campaign: "spring", Outcome: campaign.FiringAdded}, []string{"mark"}},
			{campaign.FiringFilter{Campaign: "spring", Until: at.Add(time.Hour)}, []string{"k1", "k0"}},
			{campaign.FiringFilter{Campaign: "spring", Outcome: campaign.FiringAdded, Until: at}, nil},
			{campaign.FiringFilter{Campaign: "autumn"}, nil},
		} {
			var got []string
			for _, firing := range f.firings(tt.filter) {
				got = append(got, firing.Key)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				f.Errorf("%+v: keys -want +got:\n%s", tt.filter, diff)
			}
		}
	}},
}
