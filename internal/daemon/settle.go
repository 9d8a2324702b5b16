package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/ledger"
)

// Progress is the progress of a run, for a progress bar or a line.
type Progress struct {
	// Phase is checking, importing, uploading, sending, held, paused or settling.
	Phase string
	// Run is the run as the ledger has it. It is zero before the import has ended.
	Run campaign.Run
	// Rows is the number of rows of the list, 0 while it is not known.
	Rows int64
	// Done is the number of rows that are checked or imported, and later of those that need no more
	// sending.
	Done int64
	// Totals is the number of rows in each status.
	Totals map[campaign.Status]int64
	// Detail is what the run waits for, "" for nothing.
	Detail string
}

// quietTime is how long no event must have come before a run whose rows are all delivered counts as
// settled. A read may follow a delivery at any time, or never.
const quietTime = 3 * time.Second

// activity remembers when the counts of a run last changed.
type activity struct {
	open, accepted       int64
	answered, progressed time.Time // when open and accepted last changed
}

// observe records the counts of now.
func (s *activity) observe(totals map[campaign.Status]int64, now time.Time) {
	if open := totals[campaign.Queued] + totals[campaign.Sending]; open != s.open || s.answered.IsZero() {
		s.open, s.answered = open, now
	}
	if accepted := totals[campaign.Accepted]; accepted != s.accepted || s.progressed.IsZero() {
		s.accepted, s.progressed = accepted, now
	}
}

// settled reports whether a run need not wait longer for statuses. No row may be open. Then the run
// is settled when every row is terminal, when all are at least delivered and no event came for
// quietTime, or when settle has passed since the last answer. In the last case it still waits while
// accepted messages get their first statuses.
func (s *activity) settled(totals map[campaign.Status]int64, now, lastEvent time.Time, settle time.Duration) bool {
	if s.open > 0 {
		return false
	}
	if now.Sub(s.answered) >= settle {
		return s.accepted == 0 || now.Sub(s.progressed) >= min(quietTime, settle)
	}
	if totals[campaign.InDoubt]+totals[campaign.Accepted]+totals[campaign.Sent] > 0 {
		return false
	}
	return totals[campaign.Delivered] == 0 || now.Sub(later(s.answered, lastEvent)) >= min(quietTime, settle)
}

// ledgerWait is how long `campaignd run` tries to read a ledger that does not answer, and to write
// one whose disk is full. PostgreSQL restarts within seconds, and a standby is promoted within half
// a minute.
const ledgerWait = time.Minute

// snapshot is a run with its counts.
type snapshot struct {
	run       campaign.Run
	totals    map[campaign.Status]int64
	lastEvent time.Time
	held      campaign.Hold // stops the run on all connections; its Scope is "" if one or more is free
}

// snapshot reads a run with its counts.
func (d *Daemon) snapshot(ctx context.Context, no campaign.RunNo) (s snapshot, err error) {
	if s.run, err = d.ledger.Run(ctx, no); err != nil {
		return s, fmt.Errorf("read the run: %w", err)
	}
	tallies, _, err := d.ledger.Tallies(ctx, no)
	if err != nil {
		return s, fmt.Errorf("count the run: %w", err)
	}
	s.totals = map[campaign.Status]int64{}
	for _, t := range tallies {
		s.totals[t.Status] += t.N
	}
	if s.lastEvent, err = d.ledger.LastEventAt(ctx, no); err != nil {
		return s, fmt.Errorf("read the last event: %w", err)
	}
	if s.run.State.Sends() {
		holds, err := d.ledger.Holds(ctx, false)
		if err != nil {
			return s, fmt.Errorf("read the holds: %w", err)
		}
		var held bool
		if s.held, held = why.Held(s.run, holds, d.directory.Origin, time.Now()); !held {
			if s.held, err = d.heldBack(ctx, s.run, holds); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// mostWatch is the longest time between two looks at a run.
const mostWatch = 5 * time.Second

// watch calls progress until the run is settled, paused or ended, or ctx ends, and returns the run.
// For the end of a hold without a known end it waits as long as for a status, settle. A ledger that
// cannot be read or written is tried again for ledgerWait.
func (d *Daemon) watch(ctx context.Context, no campaign.RunNo, settle time.Duration, progress func(Progress)) (campaign.Run, error) {
	var s activity
	var held time.Time // since when a hold without a known end stops the run, zero while none does
	wait := settle
	outage, mayFail := d.ledger.(ledger.Failing)
	if d.intake == nil {
		wait = 0 // without webhooks no status can come
	}
	p := Progress{Phase: "sending"}
	var away time.Time // since when the ledger cannot be read or written, zero while it can
	for {
		began := time.Now()
		seen, err := d.snapshot(ctx, no)
		detail := ""
		if err == nil {
			detail, err = why.Sending(ctx, d.ledger, seen.run, seen.totals, seen.held, began)
		}
		tell := "read"
		if err != nil && away.IsZero() {
			away = began
		}
		if err == nil && mayFail {
			if away, err = outage.Unwritable(); err != nil {
				tell = "written"
			}
		}
		if err != nil {
			until := away.Add(ledgerWait)
			if ctx.Err() != nil || errors.Is(err, campaign.ErrNoRun) || !time.Now().Before(until) {
				return seen.run, err
			}
			p.Detail = "the ledger cannot be " + tell + ", trying again until " + until.UTC().Format("15:04:05 UTC") + ": " + err.Error()
			progress(p)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			continue
		}
		away = time.Time{}
		run, totals, lastEvent := seen.run, seen.totals, seen.lastEvent
		now := time.Now()
		s.observe(totals, now)
		open := s.open
		p = Progress{Phase: "sending", Run: run, Rows: run.Rows, Done: run.Rows - open, Totals: totals, Detail: detail}
		if open == 0 {
			p.Phase = "settling"
		}
		over := false
		if hold := seen.held; open == 0 || hold.Scope == "" || !hold.Until.IsZero() {
			held = time.Time{}
		} else {
			if p.Phase = "held"; held.IsZero() {
				held = now
			}
			if over = now.Sub(held) >= wait; !over {
				p.Detail += "; waiting until " + held.Add(wait).UTC().Format("15:04:05 UTC") + " (--settle) for its end"
			}
		}
		if run.State == campaign.Paused {
			p.Phase, over = "paused", true
		}
		progress(p)
		// With no row in doubt the engine is about to finish the run. Returning earlier would leave the
		// run running until the next sender.
		closing := open == 0 && totals[campaign.InDoubt] == 0 && !run.State.Ended()
		if over || run.State != campaign.Paused && !closing && s.settled(totals, now, lastEvent, wait) {
			return run, nil
		}
		// Counting a large run takes time: at most 2 % of this loop, unless the pause would be longer
		// than mostWatch.
		select {
		case <-ctx.Done():
			return run, ctx.Err()
		case <-time.After(min(max(250*time.Millisecond, 50*now.Sub(began)), mostWatch)):
		}
	}
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
