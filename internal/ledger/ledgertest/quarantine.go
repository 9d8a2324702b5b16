package ledgertest

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

// Quarantine doubts exactly what may have been posted in the lost time: deliveries behind the mark,
// retries that were due, and deliveries in flight.
func quarantineDoubtsWhatMayHaveBeenPosted(t *testing.T, l Tables) {
	const rows = campaign.SegmentSize + 100
	r := Load(t, l, rows)
	leases, err := l.Claim(t.Context(), campaign.Claim{Owner: "test", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1,
		Lease: time.Hour})
	if err != nil || len(leases) != 1 {
		t.Fatalf("got %+v, %v; want no error, length 1", leases, err)
	}
	lease := leases[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	deferred := func(seq int64, at time.Time) campaign.Result {
		return campaign.Result{Run: r.No, Seq: seq, Key: 2348030000000 + seq, Connection: "conn_1", Attempt: 1, Kind: campaign.ResultDeferred,
			At: now, Epoch: lease.Epoch, NotBefore: at, Code: "busy"}
	}
	// 0 to 3 are accepted, 4 was due before anybody noticed the loss, 5 is not due yet, 6 to 9 are in flight.
	if err := l.Record(t.Context(), append(Acceptances(lease, 0, 4), deferred(4, now.Add(-time.Second)),
		deferred(5, now.Add(time.Hour)))); err != nil {
		t.Fatal(err)
	}
	since := now.Add(-time.Minute)
	const want = 1 + 4 + 20 + 20
	before := Totals(t, l, r.No)
	if n, err := l.Rehearse(t.Context(), 20, since); err != nil || n != want {
		t.Errorf("a rehearsal says %d, %v; want %d", n, err, want)
	}
	if after := Totals(t, l, r.No); after[campaign.Queued] != before[campaign.Queued] || after[campaign.InDoubt] != before[campaign.InDoubt] {
		t.Errorf("a rehearsal made %v of %v; want Queued: %+v, InDoubt: %+v", after, before, before[campaign.Queued], before[campaign.InDoubt])
	}
	if n, err := l.Quarantine(t.Context(), 20, since); err != nil || n != want {
		t.Errorf("put %d in doubt, %v; want %d", n, err, want)
	}
	if got := Totals(t, l, r.No); got[campaign.Accepted] != 4 || got[campaign.InDoubt] != want || got[campaign.Queued] != rows-4-want {
		t.Errorf("got %v; want Accepted: 4, InDoubt: %+v, Queued: %+v", got, want, rows-4-want)
	}
	Audited(t, l, r.No)
	if got, err := l.Run(t.Context(), r.No); err != nil || got.State != campaign.Paused || got.Reason != campaign.PausedByLedger ||
		got.Taken != 10+20+20 {
		t.Errorf("got %+v %v; want no error, State Paused, Reason PausedByLedger, Taken %+v", got, err, 10+20+20)
	}
	if g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: 10, To: 11}}); err != nil || !g[0].Fenced {
		t.Errorf("a sender that stayed: %+v %v; want no error, Fenced", g, err)
	}

	// The replayed webhooks prove what was posted, while the run is paused. No connection was bound to the
	// second segment, so that any may have sent it.
	event := func(seq int64, connection string, at time.Time) campaign.StatusEvent {
		return campaign.StatusEvent{MessageID: MessageID(r.No, seq), Connection: connection, Recipient: 2348030000000 + seq,
			Status: campaign.Delivered, At: at, ReceivedAt: now}
	}
	posted := now.Add(-30 * time.Second)
	if _, err := l.SetWanted(t.Context(), r.No, campaign.WantRun); err != nil {
		t.Fatal(err)
	}
	second, err := l.Claim(t.Context(), campaign.Claim{Owner: "test", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 2,
		Lease: time.Hour})
	if err != nil || len(second) != 2 {
		t.Fatalf("got %+v, %v; want no error, length 2", second, err)
	}
	for _, s := range second {
		if n, err := l.Recover(t.Context(), s, now); err != nil || n != 0 {
			t.Errorf("%d were left to recover: %v; want no error, 0", n, err)
		}
		if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", From: s.Mark, To: s.Mark + 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{
		event(4, "conn_1", posted), event(9, "conn_1", posted), event(10, "conn_1", posted), event(campaign.SegmentSize, "conn_2", posted),
		event(11, "conn_2", posted), event(12, "conn_1", since.Add(-time.Minute)), // another program's
	}}); err != nil {
		t.Fatal(err)
	}
	if s, err := l.Sweep(t.Context(), now); err != nil || s.Adopted != 4 {
		t.Errorf("adopted %+v %v, want 4", s, err)
	}
	Audited(t, l, r.No)
}

func quarantinePausesWhatCouldSend(t *testing.T, l Tables) {
	run := func() campaign.Run { return Load(t, l, 3) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pause := func(reason campaign.PauseReason, detail string) campaign.Run {
		r := run()
		_, err := l.SetState(t.Context(), r.No, []campaign.State{campaign.Ready}, campaign.Paused, reason, detail)
		must(err)
		return r
	}
	ready, template, operator := run(), pause(campaign.PausedByTemplate, "it is reviewed"), pause(campaign.PausedByOperator, "")
	cancelled := run()
	_, err := l.SetWanted(t.Context(), cancelled.No, campaign.WantCancel)
	must(err)
	importing, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "half"})
	must(err)

	if n, err := l.Quarantine(t.Context(), 2, time.Now().Add(-time.Minute)); err != nil || n != 4*2 {
		t.Errorf("put %d in doubt, %v; want no error, %+v", n, err, 4*2)
	}
	for _, c := range []struct {
		run    campaign.Run
		state  campaign.State
		reason campaign.PauseReason
		wanted campaign.Wanted
		detail string
	}{
		{ready, campaign.Paused, campaign.PausedByLedger, campaign.WantRun, "replayed"},
		{template, campaign.Paused, campaign.PausedByLedger, campaign.WantRun, "it was paused before: template it is reviewed"},
		// otherwise an APPROVED would resume it
		{operator, campaign.Paused, campaign.PausedByOperator, campaign.WantRun, ""},
		{cancelled, campaign.Ready, "", campaign.WantCancel, ""},
		{importing, campaign.Importing, "", campaign.WantPause, ""},
	} {
		got, err := l.Run(t.Context(), c.run.No)
		must(err)
		if got.State != c.state || got.Reason != c.reason || got.Wanted != c.wanted || !strings.Contains(got.Detail, c.detail) {
			t.Errorf("%+v, want %s %s %s %q", got, c.state, c.reason, c.wanted, c.detail)
		}
	}
}

func quarantineCountsAgainstTheBudgetAndNotBeyondIt(t *testing.T, l Tables) {
	r, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "x", Budget: 15})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AppendRows(t.Context(), r.No, 0, Rows(0, 100), []campaign.Segment{{Run: r.No, Hi: 100}}); err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), r.No, 100, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{8, 15} {
		if n, err := l.Quarantine(t.Context(), 8, time.Now()); err != nil || n != 8 {
			t.Errorf("put %d in doubt, %v; want no error, 8", n, err)
		}
		if got, err := l.Run(t.Context(), r.No); err != nil || got.Taken != want {
			t.Errorf("%d of %d are taken, want %d: %v", got.Taken, got.Budget, want, err)
		}
	}
	Audited(t, l, r.No)
}

func quarantineOfNothingAcceptsTheLedgerAsItStands(t *testing.T, l Tables) {
	r := Load(t, l, 10)
	if n, err := l.Quarantine(t.Context(), 0, time.Now()); err != nil || n != 0 {
		t.Errorf("put %d in doubt, %v; want no error, 0", n, err)
	}
	if got, err := l.Run(t.Context(), r.No); err != nil || got.State != campaign.Ready {
		t.Errorf("got %+v %v; want no error, State Ready", got, err)
	}
	if err := l.Restored(t.Context()); err != nil {
		t.Error(err)
	}
}
