package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
)

// Notify is the option of that name of the ledgers of Run: two destinations, of which the second is
// told of holds alone.
func Notify(kind campaign.NotificationKind) []string {
	switch kind {
	case campaign.NotifyHold, campaign.NotifyBreaker:
		return []string{"ops", "holds"}
	case campaign.NotifyHoldEnded:
		return []string{"holds"}
	}
	return []string{"ops"}
}

// notified returns what the outbox has, the oldest first, as "DESTINATION KIND CAMPAIGN SUBJECT
// REASON STATE".
func (f *fixture) notified(filter campaign.NotificationFilter) (all []string) {
	f.Helper()
	found, err := f.l.Notifications(f.ctx, filter)
	f.ok(err)
	for _, n := range slices.Backward(found) {
		all = append(all, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s %s", n.Destination, n.Kind, n.Campaign, n.Subject, n.Reason,
			n.State)), " "))
	}
	return all
}

// wantNotified compares the whole outbox.
func (f *fixture) wantNotified(want ...string) {
	f.Helper()
	if got := f.notified(campaign.NotificationFilter{}); !slices.Equal(got, want) {
		f.Errorf("got the notifications\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// move changes the state of a run, and fails unless it changed.
func (f *fixture) move(no campaign.RunNo, from, to campaign.State, reason campaign.PauseReason, detail string) {
	f.Helper()
	moved, err := f.l.SetState(f.ctx, no, []campaign.State{from}, to, reason, detail)
	f.ok(err)
	if !moved {
		f.Fatalf("run %d did not move from %s to %s, want that it does", no, from, to)
	}
}

var notificationPromises = []promise{
	{"ARunTellsOfItsWayOnce", func(f *fixture) {
		r := f.imported(2)
		f.lease(r.No, gone)
		f.lease(r.No, long)
		f.move(r.No, campaign.Running, campaign.Paused, campaign.PausedByBreaker, "too many refusals")
		f.done(f.l.SetWanted(f.ctx, r.No, campaign.WantRun, ""))
		f.move(r.No, campaign.Ready, campaign.Running, "", "")
		f.move(r.No, campaign.Running, campaign.RunStateFailed, "", "why")
		f.wantNotified("ops run.started spring pending", "ops run.paused spring breaker pending", "ops run.finished spring failed pending",
			"ops run.settled spring waiting")
		for _, n := range f.must(f.l.Notifications(f.ctx, campaign.NotificationFilter{})) {
			if n.Run != r.No || !strings.HasPrefix(n.ID, "ntf_") || len(n.ID) != 36 || n.At.IsZero() || !n.NextAt.Equal(n.At) || n.Body != "" {
				f.Errorf("got %+v, want the run, an id of 36 characters, its times and no body", n)
			}
		}
	}},
	{"ARunThatWaitsForApprovalTells", func(f *fixture) {
		r := f.create()
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 1), []campaign.Segment{{Run: r.No, Lo: 0, Hi: 1}}))
		for range 2 {
			f.ok(f.l.FinishImport(f.ctx, r.No, 1, campaign.WaitingApproval))
		}
		f.wantNotified("ops approval.needed spring pending")
	}},
	{"AFinishedRunTells", func(f *fixture) {
		r := f.create()
		f.ok(f.l.FinishImport(f.ctx, r.No, 0, campaign.Ready))
		for range 2 {
			f.done(f.l.FinishRuns(f.ctx))
		}
		f.wantNotified("ops run.finished spring finished pending", "ops run.settled spring waiting")
	}},
	{"AHoldTellsWhenItBegins", func(f *fixture) {
		now := time.Now().UTC()
		hold := campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "131042", Source: campaign.HoldByRefusal, Since: now}
		for range 2 {
			f.done(f.l.AddHolds(f.ctx, []campaign.Hold{hold}))
		}
		hold.ID, hold.Source, hold.Reason = "conn_2", campaign.HoldByBreaker, "breaker"
		f.done(f.l.Apply(f.ctx, campaign.Events{Holds: []campaign.Hold{hold}}))
		f.wantNotified("ops hold.raised connection conn_1 131042 pending", "holds hold.raised connection conn_1 131042 pending",
			"holds hold.ended connection conn_1 131042 waiting", "ops breaker.tripped connection conn_2 breaker pending",
			"holds breaker.tripped connection conn_2 breaker pending", "holds hold.ended connection conn_2 breaker waiting")
	}},
	{"AHoldThatComesBackSoonTellsOnce", func(f *fixture) {
		for range 3 {
			now := time.Now().UTC()
			_, err := f.l.AddHolds(f.ctx, []campaign.Hold{{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "429",
				Source: campaign.HoldByRefusal, Since: now, Until: now.Add(150 * time.Millisecond)}})
			f.ok(err)
			time.Sleep(time.Until(now.Add(160 * time.Millisecond)))
		}
		f.wantNotified("ops hold.raised connection conn_1 429 pending", "holds hold.raised connection conn_1 429 pending",
			"holds hold.ended connection conn_1 429 waiting")
	}},
	{"ARejectedFileTellsOnce", func(f *fixture) {
		file, _ := f.take(dropped("a.csv", "1"))
		file.State, file.Detail = campaign.DropRejected, "it has no column phone"
		for range 2 {
			f.ok(f.l.UpdateFile(f.ctx, file))
		}
		f.wantNotified("ops drop.rejected spring file:///inbox/a.csv pending")
	}},
	{"AMissedFiringTells", func(f *fixture) {
		firing := campaign.Firing{Campaign: "daily", Key: "k1", At: noon, Since: noon, Outcome: campaign.FiringLaunching}
		for _, o := range []campaign.FiringOutcome{campaign.FiringLaunching, campaign.FiringFailed, campaign.FiringFailed} {
			firing.Outcome = o
			f.done(f.l.NoteFiring(f.ctx, firing))
		}
		_, err := f.l.NoteFiring(f.ctx, campaign.Firing{Campaign: "daily", Key: "k2", At: noon, Missed: 3, MissedSince: noon,
			Outcome: campaign.FiringLaunched})
		f.ok(err)
		f.done(f.l.NoteFiring(f.ctx, campaign.Firing{Campaign: "daily", Key: "k3", At: noon, Outcome: campaign.FiringMissed}))
		f.wantNotified("ops schedule.missed daily k1 failed pending", "ops schedule.missed daily k2 missed pending",
			"ops schedule.missed daily k3 missed pending")
	}},
	{"OneProcessTakesATry", func(f *fixture) {
		f.move(f.imported(1).No, campaign.Ready, campaign.Paused, campaign.PausedByBreaker, "")
		n := f.must(f.l.Notifications(f.ctx, campaign.NotificationFilter{}))[0]
		next := n
		next.Attempts, next.NextAt, next.Body = 1, n.NextAt.Add(time.Minute), `{"type":"run.paused"}`
		var taken atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if ok, err := f.l.UpdateNotification(f.ctx, n, next); err != nil {
					f.Errorf("taking a try: %v; want no error", err)
				} else if ok {
					taken.Add(1)
				}
			})
		}
		wg.Wait()
		if taken.Load() != 1 {
			f.Errorf("%d processes took the try, want 1", taken.Load())
		}
		if got := f.must(f.l.Notifications(f.ctx, campaign.NotificationFilter{No: n.No}))[0]; got != next {
			f.Errorf("got %+v, want %+v", got, next)
		}
	}},
	{"TheOutboxIsSelectedCountedAndTidied", func(f *fixture) {
		f.move(f.imported(1).No, campaign.Ready, campaign.Paused, campaign.PausedByBreaker, "")
		f.ok(errors.Join(f.l.FinishImport(f.ctx, f.create().No, 0, campaign.WaitingApproval)))
		all := f.must(f.l.Notifications(f.ctx, campaign.NotificationFilter{}))
		sent := all[1]
		sent.State = campaign.NotificationSent
		if ok, err := f.l.UpdateNotification(f.ctx, all[1], sent); err != nil || !ok {
			f.Fatalf("sent: %v, %v; want true", ok, err)
		}
		for name, c := range map[string]struct {
			filter campaign.NotificationFilter
			want   int
		}{
			"all":              {campaign.NotificationFilter{}, 2},
			"one":              {campaign.NotificationFilter{Limit: 1}, 1},
			"sent":             {campaign.NotificationFilter{States: []campaign.NotificationState{campaign.NotificationSent}}, 1},
			"of nobody":        {campaign.NotificationFilter{Destination: "holds"}, 0},
			"due":              {campaign.NotificationFilter{Destination: "ops", Due: all[0].NextAt}, 1},
			"due a moment ago": {campaign.NotificationFilter{Due: all[0].NextAt.Add(-time.Millisecond)}, 0},
		} {
			if got := f.notified(c.filter); len(got) != c.want {
				f.Errorf("%s: got %v, want %d", name, got, c.want)
			}
		}
		counts, err := f.l.NotificationBacklogs(f.ctx)
		f.ok(err)
		want := []campaign.NotificationBacklog{{Destination: "ops", State: campaign.NotificationPending, N: 1, Oldest: all[0].At},
			{Destination: "ops", State: campaign.NotificationSent, N: 1, Oldest: all[1].At}}
		if !slices.Equal(counts, want) {
			f.Errorf("got %+v, want %+v", counts, want)
		}
		for i, before := range []time.Time{all[1].Since, all[1].Since.Add(time.Millisecond)} {
			if n, err := f.l.TidyNotifications(f.ctx, before); err != nil || n != int64(i) {
				f.Errorf("tidied %d, %v; want %d", n, err, i)
			}
		}
		f.wantNotified("ops approval.needed spring pending")
	}},
}

// must returns the notifications of a call that succeeds.
func (f *fixture) must(all []campaign.Notification, err error) []campaign.Notification {
	f.Helper()
	f.ok(err)
	if len(all) == 0 {
		f.Fatal("got no notification, want one")
	}
	return all
}
