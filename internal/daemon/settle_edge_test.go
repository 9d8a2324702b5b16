package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/webhooks"
)

// Each waiting time is tested a nanosecond before its end and on it.
func TestWaitingForStatusesEndsOnTheInstant(t *testing.T) {
	type totals = map[campaign.Status]int64
	const ms, s1 = time.Millisecond, time.Second
	for _, tt := range []struct {
		name    string
		settle  time.Duration
		before  totals        // the totals at the beginning
		changed time.Duration // when before changed to after
		after   totals
		event   time.Duration // when the last event came; 0: none
		instant time.Duration // when the run is settled
	}{
		{"settle after the last answer", 30 * s1, totals{campaign.Queued: 1}, s1, totals{campaign.Sent: 1}, 0, 31 * s1},
		{"a row that is being sent is open", 30 * s1, totals{campaign.Sending: 1}, s1, totals{campaign.InDoubt: 1}, 0, 31 * s1},
		{"queued rows and rows being sent count together", 30 * s1, totals{campaign.Queued: 1, campaign.Sending: 1},
			s1, totals{campaign.Sent: 2}, 0, 31 * s1},
		{"a change of rows that are not open does not count", 30 * s1, totals{campaign.Sent: 2},
			s1, totals{campaign.Sent: 1, campaign.Read: 1}, 0, 30 * s1},
		{"accepted messages still get statuses", 30 * s1, totals{campaign.Accepted: 2},
			29 * s1, totals{campaign.Accepted: 1, campaign.Sent: 1}, 0, 32 * s1},
		{"no longer than settle where that is shorter", 500 * ms, totals{campaign.Accepted: 2},
			400 * ms, totals{campaign.Accepted: 1, campaign.Sent: 1}, 0, 900 * ms},
		{"a read may follow a delivery", 30 * s1, totals{campaign.Queued: 1}, s1, totals{campaign.Delivered: 1}, 0, 4 * s1},
		{"a read may follow an event", 30 * s1, totals{campaign.Queued: 1}, s1, totals{campaign.Delivered: 1}, 2 * s1, 5 * s1},
		{"an event before the last answer does not count", 30 * s1, totals{campaign.Queued: 1},
			3 * s1, totals{campaign.Delivered: 1}, s1, 6 * s1},
		{"settle bounds the wait for a read", s1, totals{campaign.Queued: 1}, s1, totals{campaign.Delivered: 1}, 0, 2 * s1},
		{"all terminal", 30 * s1, totals{campaign.Queued: 1}, s1, totals{campaign.Read: 1}, 0, s1},
	} {
		began := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
		event := time.Time{}
		if tt.event > 0 {
			event = began.Add(tt.event)
		}
		var s activity
		s.observe(tt.before, began)
		s.observe(tt.after, began.Add(tt.changed))
		if early := tt.instant - 1; early >= tt.changed && s.settled(tt.after, began.Add(early), event, tt.settle) {
			t.Errorf("%s: settled after %v, want it after %v", tt.name, early, tt.instant)
		}
		if !s.settled(tt.after, began.Add(tt.instant), event, tt.settle) {
			t.Errorf("%s: not settled after %v, want it then", tt.name, tt.instant)
		}
	}
	for _, open := range []campaign.Status{campaign.InDoubt, campaign.Accepted, campaign.Sent} {
		var s activity
		began := time.Now()
		s.observe(totals{open: 1, campaign.Read: 1}, began)
		if s.settled(totals{open: 1, campaign.Read: 1}, began.Add(10*time.Second), time.Time{}, 30*time.Second) {
			t.Errorf("settled after 10 s with a row %s, want it after 30 s", open)
		}
	}
}

// walked is a ledger whose totals change each second.
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
		all = append(all, campaign.Tally{Status: s, N: n - 1}, campaign.Tally{Status: s, N: 1}) // two tallies, as for two reasons
	}
	return all, campaign.Funnel{}, nil
}

func TestRunReportsProgressFourTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &walked{watched{began: time.Now(), until: 3 * time.Second}, []map[campaign.Status]int64{
			{campaign.Queued: 5, campaign.Sending: 3, campaign.Skipped: 2}, {campaign.Read: 8, campaign.Skipped: 2},
		}}
		d := &Daemon{ledger: w, intake: &webhooks.Intake{}}
		var reports []string
		run, err := d.watch(t.Context(), 1, 30*time.Second, func(p Progress) {
			reports = append(reports, fmt.Sprintf("%s %d/%d queued %d", p.Phase, p.Done, p.Rows, p.Totals[campaign.Queued]))
		})
		if err != nil || run.State != campaign.Finished {
			t.Errorf("watch = %s and %v, want finished", run.State, err)
		}
		// Every message is read after a second. The engine ends the run two seconds later, and watch
		// waits for that.
		want := strings.Repeat("sending 2/10 queued 5\n", 4) + strings.Repeat("settling 10/10 queued 0\n", 9)
		if got := strings.Join(reports, "\n") + "\n"; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}
