package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/numbers"
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

// watched is a ledger with one run of ten rows, whose state changes with time. From 5 s to until
// the run is paused, or held, and then finished.
type watched struct {
	campaign.Ledger
	began  time.Time
	paused bool
	hold   campaign.Hold
	until  time.Duration
}

func (w *watched) Run(context.Context, campaign.RunNo) (campaign.Run, error) {
	r := campaign.Run{No: 1, Campaign: "spring", Rows: 10, State: campaign.Running}
	switch since := time.Since(w.began); {
	case since >= w.until:
		r.State = campaign.Finished
	case since >= 5*time.Second && w.paused:
		r.State, r.Reason, r.Detail = campaign.Paused, campaign.PausedByOperator, "it is paused"
	}
	return r, nil
}

func (w *watched) Holds(context.Context, bool) ([]campaign.Hold, error) {
	if time.Since(w.began) < 5*time.Second || w.hold.Scope == "" {
		return nil, nil
	}
	return []campaign.Hold{w.hold}, nil
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
			u := &unread{watched{began: time.Now(), until: 26 * time.Second}, c.away}
			d := &Daemon{ledger: u, intake: &webhooks.Intake{}, directory: numbers.NewDirectory(config.Default())}
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

// unwritten is a ledger that refuses writes for the time away, from 5 s on.
type unwritten struct{ unread }

func (u *unwritten) Unwritable() (time.Time, error) {
	if since := time.Since(u.began); since >= 5*time.Second && since < 5*time.Second+u.away {
		return u.began.Add(5 * time.Second), errors.New("the disk is full")
	}
	return time.Time{}, nil
}

func (u *unwritten) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	return u.watched.Run(ctx, no)
}

// A full disk can still be read.
func TestRunGivesUpAMinuteAfterItsDiskIsFull(t *testing.T) {
	for _, c := range []struct {
		away, ends time.Duration
		fails      bool
	}{
		{20 * time.Second, 26 * time.Second, false},
		{time.Hour, 65 * time.Second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := &unwritten{unread{watched{began: time.Now(), until: 26 * time.Second}, c.away}}
			if c.fails {
				u.until = time.Hour
			}
			d := &Daemon{ledger: u, intake: &webhooks.Intake{}, directory: numbers.NewDirectory(config.Default())}
			reported := 0
			run, err := d.watch(t.Context(), 1, 30*time.Second, func(p Progress) {
				if strings.Contains(p.Detail, "the ledger cannot be written, trying again until") && strings.Contains(p.Detail, "disk is full") {
					reported++
				}
			})
			took := time.Since(u.began)
			if (err != nil) != c.fails || took < c.ends || took > c.ends+2*time.Second || reported == 0 {
				t.Errorf("full for %v: got the end after %v as %s (%v), reported %d times, want it after %v, failed: %v",
					c.away, took, run.State, err, reported, c.ends, c.fails)
			}
		})
	}
}

func TestRunWaitsOutAHoldNoLongerThanSettle(t *testing.T) {
	for _, c := range []struct {
		name   string
		paused bool
		ends   time.Duration // of the hold; 0: not by itself
		until  time.Duration
		deaf   bool // whether no webhooks are taken
		over   time.Duration
		state  campaign.State
		waits  bool
	}{
		{"an event ends the hold", false, 0, 30 * time.Second, false, 30 * time.Second, campaign.Finished, true},
		{"nothing ends the hold", false, 0, time.Hour, false, 35 * time.Second, campaign.Running, true},
		{"no webhooks are taken", false, 0, time.Hour, true, 5 * time.Second, campaign.Running, false},
		{"the hold ends by itself", false, 10 * time.Minute, 5 * time.Minute, false, 5 * time.Minute, campaign.Finished, false},
		{"the run is paused", true, 0, time.Hour, false, 5 * time.Second, campaign.Paused, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &watched{began: time.Now(), paused: c.paused, until: c.until}
				if !c.paused {
					w.hold = campaign.Hold{Scope: campaign.HoldRun, ID: "spring-1", Reason: "operator", Source: campaign.HoldByOperator, Since: w.began}
				}
				if c.ends > 0 {
					w.hold.Until = w.began.Add(c.ends)
				}
				d := &Daemon{ledger: w, directory: numbers.NewDirectory(config.Default())}
				if !c.deaf {
					d.intake = &webhooks.Intake{}
				}
				details := ""
				run, err := d.watch(t.Context(), 1, 30*time.Second, func(p Progress) { details += p.Phase + " " + p.Detail + "\n" })
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(w.began); run.State != c.state || took < c.over || took > c.over+time.Second {
					t.Errorf("got %s after %s, want %s after %s", run.State, took, c.state, c.over)
				}
				if strings.Contains(details, "waiting until") != c.waits {
					t.Errorf("got the details %q, want \"waiting until\" in them: %v", details, c.waits)
				}
				if said := strings.Contains(details, "run spring-1 is held since"); said == c.paused {
					t.Errorf("the progress names the hold: %t, want %t", said, !c.paused)
				}
			})
		})
	}
}
