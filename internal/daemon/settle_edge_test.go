package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/webhooks"
)

// Each time of `run --settle` at its edge: a nanosecond before, and on it.
func TestWaitingForStatusesEndsOnTheInstant(t *testing.T) {
	type totals = map[campaign.Status]int64
	const ms = time.Millisecond
	for _, tt := range []struct {
		name          string
		settle        time.Duration
		before        totals        // at the beginning
		changed       time.Duration // when they became after
		after         totals
		event         time.Duration // 0: none came
		over, instant time.Duration
	}{
		{name: "settle after the last answer", settle: 30 * time.Second, before: totals{campaign.Queued: 1}, changed: time.Second, after: totals{campaign.Sent: 1}, instant: 31 * time.Second},
		{name: "a row that is being sent is open", settle: 30 * time.Second, before: totals{campaign.Sending: 1}, changed: time.Second, after: totals{campaign.InDoubt: 1}, instant: 31 * time.Second},
		{name: "queued and being sent are counted together", settle: 30 * time.Second, before: totals{campaign.Queued: 1, campaign.Sending: 1}, changed: time.Second, after: totals{campaign.Sent: 2}, instant: 31 * time.Second},
		{name: "a change of what is not open starts nothing anew", settle: 30 * time.Second, before: totals{campaign.Sent: 2}, changed: time.Second, after: totals{campaign.Sent: 1, campaign.Read: 1}, instant: 30 * time.Second},
		{name: "the service works off what it accepted", settle: 30 * time.Second, before: totals{campaign.Accepted: 2}, changed: 29 * time.Second, after: totals{campaign.Accepted: 1, campaign.Sent: 1}, instant: 32 * time.Second},
		{name: "no longer than settle where that is shorter", settle: 500 * ms, before: totals{campaign.Accepted: 2}, changed: 400 * ms, after: totals{campaign.Accepted: 1, campaign.Sent: 1}, instant: 900 * ms},
		{name: "a read may follow a delivery", settle: 30 * time.Second, before: totals{campaign.Queued: 1}, changed: time.Second, after: totals{campaign.Delivered: 1}, instant: 4 * time.Second},
		{name: "a read may follow an event", settle: 30 * time.Second, before: totals{campaign.Queued: 1}, changed: time.Second, after: totals{campaign.Delivered: 1}, event: 2 * time.Second, instant: 5 * time.Second},
		{name: "an event before the last answer says nothing", settle: 30 * time.Second, before: totals{campaign.Queued: 1}, changed: 3 * time.Second, after: totals{campaign.Delivered: 1}, event: time.Second, instant: 6 * time.Second},
		{name: "a delivery is not waited for longer than settle", settle: time.Second, before: totals{campaign.Queued: 1}, changed: time.Second, after: totals{campaign.Delivered: 1}, instant: 2 * time.Second},
		{name: "all terminal", settle: 30 * time.Second, before: totals{campaign.Queued: 1}, changed: time.Second, after: totals{campaign.Read: 1}, instant: time.Second},
	} {
		began := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
		event := time.Time{}
		if tt.event > 0 {
			event = began.Add(tt.event)
		}
		var s silence
		s.observe(tt.before, began)
		s.observe(tt.after, began.Add(tt.changed))
		if early := tt.instant - 1; early >= tt.changed && s.over(tt.after, began.Add(early), event, tt.settle) {
			t.Errorf("%s: over after %v, want %v", tt.name, early, tt.instant)
		}
		if !s.over(tt.after, began.Add(tt.instant), event, tt.settle) {
			t.Errorf("%s: not over after %v", tt.name, tt.instant)
		}
	}
	for _, open := range []campaign.Status{campaign.InDoubt, campaign.Accepted, campaign.Sent} { // each of them alone keeps it
		var s silence
		began := time.Now()
		s.observe(totals{open: 1, campaign.Read: 1}, began)
		if s.over(totals{open: 1, campaign.Read: 1}, began.Add(10*time.Second), time.Time{}, 30*time.Second) {
			t.Errorf("over after 10 s with a row %s, want --settle (30 s)", open)
		}
	}
}

// seen is a ledger with one run as it is set up.
type seen struct {
	campaign.Ledger
	run      campaign.Run
	segments []campaign.SegmentState
	lanes    []campaign.LaneReport
	fault    error
}

func (s *seen) SegmentStates(context.Context, campaign.RunNo) ([]campaign.SegmentState, error) {
	return s.segments, s.fault
}

func (s *seen) Lanes(context.Context, campaign.RunNo) ([]campaign.LaneReport, error) {
	return s.lanes, s.fault
}

func TestRunSaysWhatItWaitsFor(t *testing.T) {
	now := time.Now()
	opens := now.Add(time.Hour)
	lane := func(binding string, age time.Duration) campaign.LaneReport {
		return campaign.LaneReport{LimitedBy: binding, Detail: binding + " holds it", At: now.Add(-age)}
	}
	running := campaign.Run{No: 3, Campaign: "spring", State: campaign.Running}
	paused, approval := running, running
	paused.State, paused.Reason, paused.Detail = campaign.Paused, campaign.PausedByAccount, "it is refused"
	approval.State = campaign.WaitingApproval
	for _, tt := range []struct {
		name string
		seen seen
		open int64
		want string
	}{
		{"a pause", seen{run: paused}, 5, "paused (account): it is refused"},
		{"a pause with nothing open", seen{run: paused}, 0, "paused (account): it is refused"},
		{"approval", seen{run: approval}, 5, "it waits for approval: `campaignd approve spring-3`"},
		{"nothing is open", seen{run: running, lanes: []campaign.LaneReport{lane("ledger", 0)}}, 0, ""},
		{"a window", seen{run: running, segments: []campaign.SegmentState{{Segment: campaign.Segment{Hi: 5}, WakeAt: opens}}, lanes: []campaign.LaneReport{lane("ledger", 0)}}, 5,
			"its sending window is closed until " + opens.UTC().Format("2006-01-02 15:04") + " UTC"},
		{"a lane", seen{run: running, lanes: []campaign.LaneReport{lane("throughput", 0), lane("none", 0), lane("limiter", 0), lane("ledger", 0)}}, 1, "limiter holds it"},
		{"a sender that is gone", seen{run: running, lanes: []campaign.LaneReport{lane("limiter", time.Hour), lane("ledger", 0)}}, 5, "ledger holds it"},
		{"only the pace", seen{run: running, lanes: []campaign.LaneReport{lane("throughput", 0), lane("none", 0)}}, 5, ""},
	} {
		got, err := (&Daemon{ledger: &tt.seen}).waiting(t.Context(), tt.seen.run, tt.open)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %q and %v, want %q", tt.name, got, err, tt.want)
		}
	}
	away := errors.New("away")
	if _, err := (&Daemon{ledger: &seen{fault: away}}).waiting(t.Context(), running, 5); !errors.Is(err, away) {
		t.Errorf("a ledger that is away: got %v, want %v", err, away)
	}
}

// walked is a ledger whose run has the totals of each second.
type walked struct {
	watched
	totals []map[campaign.Status]int64
}

func (w *walked) Run(context.Context, campaign.RunNo) (campaign.Run, error) {
	r := campaign.Run{No: 1, Campaign: "spring", Rows: 10, State: campaign.Running}
	if time.Since(w.began) >= w.until {
		r.State = campaign.Finished
	}
	return r, nil
}

func (w *walked) Tallies(context.Context, campaign.RunNo) (all []campaign.Tally, _ campaign.Funnel, _ error) {
	at := min(int(time.Since(w.began)/time.Second), len(w.totals)-1)
	for s, n := range w.totals[at] {
		all = append(all, campaign.Tally{Status: s, N: n - 1}, campaign.Tally{Status: s, N: 1}) // as with two reasons
	}
	return all, campaign.Funnel{}, nil
}

func TestRunTellsItsProgressFourTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &walked{watched{began: time.Now(), until: 3 * time.Second}, []map[campaign.Status]int64{
			{campaign.Queued: 5, campaign.Sending: 3, campaign.Skipped: 2}, {campaign.Read: 8, campaign.Skipped: 2},
		}}
		d := &Daemon{ledger: w, intake: &webhooks.Intake{}}
		var said []string
		run, err := d.watch(t.Context(), 1, 30*time.Second, func(p Progress) {
			said = append(said, fmt.Sprintf("%s %d/%d queued %d", p.Phase, p.Done, p.Rows, p.Totals[campaign.Queued]))
		})
		if err != nil || run.State != campaign.Finished {
			t.Errorf("watch = %s and %v, want finished", run.State, err)
		}
		// All is read after a second; the engine ends the run two seconds later, and not before is the watch over.
		want := strings.Repeat("sending 2/10 queued 5\n", 4) + strings.Repeat("settling 10/10 queued 0\n", 9)
		if got := strings.Join(said, "\n") + "\n"; got != want {
			t.Errorf("said\n%swant\n%s", got, want)
		}
	})
}
