package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// progressOf polls, and returns the progress of a run; false: the poll has none.
func progressOf(t *testing.T, o *observer, run string) (p resource.Progress, found bool) {
	t.Helper()
	now, err := o.poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e, found := now["2 progress "+run]
	if found {
		if err := json.Unmarshal(e.data, &p); err != nil || e.event != resource.EventProgress {
			t.Fatalf("got %s %s (%v), want progress", e.event, e.data, err)
		}
	}
	return p, found
}

func TestProgressHasTheTotalsOfTheReport(t *testing.T) {
	w := newWorld(t)
	l, ctx := w.session.Ledger, t.Context()
	o := &observer{s: w.Server, companies: map[campaign.RunNo]string{}}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, want map[campaign.Status]int64, left int64, rate float64) {
		t.Helper()
		p, _ := progressOf(t, o, "spring-1")
		report, err := w.session.Report(ctx, "spring-1")
		ok(err)
		if !maps.Equal(p.Totals, report.Totals) || len(p.Totals) != len(campaign.Statuses) {
			t.Errorf("%s: got the totals %v, want those of the report: %v", what, p.Totals, report.Totals)
		}
		for s, n := range want {
			if p.Totals[s] != n {
				t.Errorf("%s: got %d %s, want %d", what, p.Totals[s], s, n)
			}
		}
		if p.Left != left || p.Rate != rate || p.Rows != 40 {
			t.Errorf("%s: got %d of %d left at %g a second, want %d of 40 at %g", what, p.Left, p.Rows, p.Rate, left, rate)
		}
	}
	check("before", map[campaign.Status]int64{campaign.Queued: 40}, 40, 0)

	run, err := l.Runs(ctx, campaign.RunFilter{})
	ok(err)
	no := run[len(run)-1].No
	leases, err := l.Claim(ctx, campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{no}, Max: 1, Lease: time.Minute})
	ok(err)
	var keys []int64
	for seq := range int64(6) {
		keys = append(keys, 2348031234567+seq)
	}
	_, err = l.Intend(ctx, []campaign.Intent{{Lease: leases[0], Connection: "conn_1", From: 0, To: 6, Keys: keys}})
	ok(err)
	ok(l.ReportLanes(ctx, "a", []campaign.LaneReport{
		{Run: no, Connection: "conn_1", LimitedBy: campaign.ByThroughput, Rate: 40, At: time.Now()},
		{Run: no, Connection: "conn_2", LimitedBy: campaign.ByThroughput, Rate: 2.5, At: time.Now()},
		{Run: no + 1, Connection: "conn_2", LimitedBy: campaign.ByThroughput, Rate: 7, At: time.Now()}}))
	check("intended", map[campaign.Status]int64{campaign.Queued: 34, campaign.Sending: 6}, 34, 42.5)

	now := time.Now().UTC()
	var results []campaign.Result
	for seq := range int64(6) {
		r := campaign.Result{Run: no, Seq: seq, Connection: "conn_1", Attempt: 1, At: now, IntentAt: now, Epoch: leases[0].Epoch,
			Kind: campaign.ResultAccepted, MessageID: fmt.Sprint("wamid.M", seq)}
		if seq == 5 {
			r.Kind, r.MessageID, r.Code = campaign.ResultRefused, "", "send_recipient_permanent"
		}
		results = append(results, r)
	}
	ok(l.Record(ctx, results))
	_, err = l.Apply(ctx, campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: "wamid.M1", Connection: "conn_1", Recipient: keys[1],
		Status: campaign.Read, At: now, ReceivedAt: now}}})
	ok(err)
	check("answered", map[campaign.Status]int64{campaign.Queued: 34, campaign.Accepted: 4, campaign.Read: 1, campaign.Refused: 1}, 34, 42.5)

	ok(l.ReportLanes(ctx, "a", nil))
	_, err = w.session.Cancel(ctx, "spring-1")
	ok(err)
	_, err = l.SkipQueued(ctx, leases[0], campaign.RunCancelled)
	ok(err)
	_, err = l.Park(ctx, leases[0], now, func(since time.Time) time.Time { return since })
	ok(err)
	ended, err := l.FinishRuns(ctx)
	if ok(err); len(ended) != 1 {
		t.Fatalf("got %v ended, want the run", ended)
	}
	check("ended", map[campaign.Status]int64{campaign.Skipped: 34, campaign.Accepted: 4, campaign.Read: 1, campaign.Refused: 1}, 0, 0)
	if _, found := progressOf(t, o, "spring-1"); found {
		t.Error("after its end: got progress again, want none")
	}
}

// uncounted is a ledger in which the rows of one run cannot be counted while it fails.
type uncounted struct {
	campaign.Ledger
	run   campaign.RunNo
	fails *bool
}

func (u uncounted) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	if no == u.run && *u.fails {
		return nil, campaign.Funnel{}, errors.New("a summary that cannot be read")
	}
	return u.Ledger.Tallies(ctx, no)
}

// One run whose rows cannot be counted stops the events of no other, and keeps what it had.
func TestARunThatCannotBeCountedStopsNoOther(t *testing.T) {
	w := newWorld(t)
	fails, log := false, &bytes.Buffer{}
	all, err := w.session.Ledger.Runs(t.Context(), campaign.RunFilter{Unfinished: true})
	if err != nil || len(all) < 2 {
		t.Fatalf("got %d runs and %v, want 2", len(all), err)
	}
	run, other := all[0], all[1]
	w.Server.process.Session.Ledger = uncounted{w.session.Ledger, run.No, &fails}
	w.Server.process.Log = slog.New(slog.NewTextHandler(log, nil))
	o := &observer{s: w.Server, companies: map[campaign.RunNo]string{}}
	polled := func(about string, want bool) {
		t.Helper()
		_, found := progressOf(t, o, run.ID())
		if _, others := progressOf(t, o, other.ID()); found != want || !others {
			t.Errorf("%s: got the progress of %s %v and of %s %v, want %v and true", about, run.ID(), found, other.ID(), others, want)
		}
	}
	fails = true
	polled("never counted", false)
	fails = false
	polled("counted", true)
	fails = true
	polled("not counted any more", true)
	if _, err := w.session.Ledger.SetState(t.Context(), run.No, []campaign.State{run.State}, campaign.Finished, "", ""); err != nil {
		t.Fatal(err)
	}
	polled("ended, not counted", true)
	fails = false
	if _, found := progressOf(t, o, run.ID()); !found {
		t.Error("counted after its end: got no progress, want its last")
	}
	if _, found := progressOf(t, o, run.ID()); found {
		t.Error("ended: got progress again, want none")
	}
	told, again := strings.Count(log.String(), "it is tried again"), strings.Count(log.String(), "can be read again")
	if told != 2 || again != 2 || !strings.Contains(log.String(), "run="+run.ID()) {
		t.Errorf("got %d faults and %d ends in the log, want 2 of each with the run:\n%s", told, again, log)
	}
}
