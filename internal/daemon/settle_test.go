package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/webhooks"
)

// A run ends when every row is terminal, or --settle after the last answer
// (docs/decisions/0001-settling.md).
func TestRunEndsWhenStatusesAreSettled(t *testing.T) {
	const settle = 30 * time.Second
	t0 := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }
	type step struct {
		at     float64
		totals map[campaign.Status]int64
		event  float64 // when the last event came; 0: none
		over   bool
	}
	for name, steps := range map[string][]step{
		"never while a row is queued": {
			{0, map[campaign.Status]int64{campaign.Queued: 5, campaign.Read: 5}, 0, false},
			{300, map[campaign.Status]int64{campaign.Queued: 5, campaign.Read: 5}, 1, false},
		},
		"at once when every row is terminal": {
			{0, map[campaign.Status]int64{campaign.Read: 5, campaign.Failed: 2, campaign.Skipped: 1}, 0, true},
		},
		"when all are delivered and no read came for 3 s": {
			{0, map[campaign.Status]int64{campaign.Delivered: 5}, 0, false},
			{2, map[campaign.Status]int64{campaign.Delivered: 4, campaign.Read: 1}, 2, false},
			{4, map[campaign.Status]int64{campaign.Delivered: 4, campaign.Read: 1}, 2, false},
			{5.1, map[campaign.Status]int64{campaign.Delivered: 4, campaign.Read: 1}, 2, true},
		},
		"settle after the last answer": {
			{0, map[campaign.Status]int64{campaign.Sending: 1, campaign.Sent: 9}, 0, false},
			{1, map[campaign.Status]int64{campaign.Sent: 10}, 1, false},
			{30, map[campaign.Status]int64{campaign.Sent: 10}, 1, false},
			{31.1, map[campaign.Status]int64{campaign.Sent: 10}, 1, true},
		},
		"a doubt is not waited for beyond settle": {
			{0, map[campaign.Status]int64{campaign.InDoubt: 1, campaign.Read: 9}, 1, false},
			{30.1, map[campaign.Status]int64{campaign.InDoubt: 1, campaign.Read: 9}, 1, true},
		},
		"not while accepted messages get their first statuses": {
			{0, map[campaign.Status]int64{campaign.Accepted: 10}, 0, false},
			{29, map[campaign.Status]int64{campaign.Accepted: 8, campaign.Sent: 2}, 29, false},
			{31, map[campaign.Status]int64{campaign.Accepted: 6, campaign.Sent: 4}, 31, false},
			{33, map[campaign.Status]int64{campaign.Accepted: 4, campaign.Sent: 6}, 33, false},
			{36.1, map[campaign.Status]int64{campaign.Accepted: 4, campaign.Sent: 6}, 33, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s activity
			for _, st := range steps {
				s.observe(st.totals, at(st.at))
				event := time.Time{}
				if st.event > 0 {
					event = at(st.event)
				}
				if got := s.settled(st.totals, at(st.at), event, settle); got != st.over {
					t.Errorf("after %v s: settled = %v, want %v", st.at, got, st.over)
				}
			}
		})
	}
}

// watched is a ledger with one run of ten rows, whose state changes with time. The run is paused
// from 5 s to until, and then finished.
type watched struct {
	campaign.Ledger
	began  time.Time
	reason campaign.PauseReason
	until  time.Duration
}

func (w *watched) Run(context.Context, campaign.RunNo) (campaign.Run, error) {
	r := campaign.Run{No: 1, Campaign: "spring", Rows: 10, State: campaign.Running}
	switch since := time.Since(w.began); {
	case since >= w.until:
		r.State = campaign.Finished
	case since >= 5*time.Second:
		r.State, r.Reason, r.Detail = campaign.Paused, w.reason, "it is refused"
	}
	return r, nil
}

func (w *watched) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	status := campaign.Queued
	if r, _ := w.Run(ctx, no); r.State == campaign.Finished {
		status = campaign.Read
	}
	return []campaign.Tally{{Status: status, N: 10}}, campaign.Funnel{}, nil
}

func (w *watched) LastEventAt(context.Context, campaign.RunNo) (time.Time, error) {
	return w.began, nil
}

func (w *watched) SegmentStates(context.Context, campaign.RunNo) ([]campaign.SegmentState, error) {
	return nil, nil
}

func (w *watched) Lanes(context.Context, campaign.RunNo) ([]campaign.LaneReport, error) {
	return nil, nil
}

// unread is a watched ledger that cannot be read from 5 s on for the time away.
type unread struct {
	watched
	away time.Duration
}

func (u *unread) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	if since := time.Since(u.began); since >= 5*time.Second && since < 5*time.Second+u.away {
		return campaign.Run{}, errors.New("connection refused")
	}
	return u.watched.Run(ctx, no)
}

func TestRunOutlivesARestartOfItsLedger(t *testing.T) {
	for _, c := range []struct {
		away, ends time.Duration
		fails      bool
	}{
		{20 * time.Second, 26 * time.Second, false},
		{time.Hour, 65 * time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := &unread{watched{began: time.Now(), until: 26 * time.Second, reason: campaign.PausedByTemplate}, c.away}
			d := &Daemon{ledger: u, intake: &webhooks.Intake{}}
			reported := 0
			run, err := d.watch(t.Context(), 1, 30*time.Second, func(p Progress) {
				if strings.Contains(p.Detail, "the ledger cannot be read") && strings.Contains(p.Detail, "connection refused") {
					reported++
				}
			})
			took := time.Since(u.began)
			if (err != nil) != c.fails || took < c.ends || took > c.ends+2*time.Second || reported == 0 {
				t.Errorf("away for %v: got the end after %v as %s (%v), reported %d times, want it after %v, failed: %v",
					c.away, took, run.State, err, reported, c.ends, c.fails)
			}
		})
	}
}

func TestRunWaitsOutAPauseNoLongerThanSettle(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason campaign.PauseReason
		until  time.Duration
		deaf   bool // whether no webhooks are taken
		ends   time.Duration
		state  campaign.State
	}{
		{"the template is approved again", campaign.PausedByTemplate, 30 * time.Second, false, 30 * time.Second, campaign.Finished},
		{"the template stays paused", campaign.PausedByTemplate, time.Hour, false, 35 * time.Second, campaign.Paused},
		{"no webhooks are taken", campaign.PausedByTemplate, time.Hour, true, 5 * time.Second, campaign.Paused},
		{"an operator must end it", campaign.PausedByAccount, time.Hour, false, 5 * time.Second, campaign.Paused},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &watched{began: time.Now(), reason: c.reason, until: c.until}
				d := &Daemon{ledger: w}
				if !c.deaf {
					d.intake = &webhooks.Intake{}
				}
				details := ""
				run, err := d.watch(t.Context(), 1, 30*time.Second, func(p Progress) {
					if p.Phase == "paused" {
						details += p.Detail + "\n"
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(w.began); run.State != c.state || took < c.ends || took > c.ends+time.Second {
					t.Errorf("got %s after %s, want %s after %s", run.State, took, c.state, c.ends)
				}
				if waits := c.ends > 5*time.Second; strings.Contains(details, "waiting until") != waits {
					t.Errorf("got the details %q, want \"waiting until\" in them: %v", details, waits)
				}
			})
		})
	}
}
