package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
)

// Progress is how far a run is, for a progress bar or a line.
type Progress struct {
	Phase  string // checking, importing, uploading, sending, paused, settling
	Run    campaign.Run
	Rows   int64 // of the list; 0 while unknown
	Done   int64 // rows that are imported (importing), or need no more sending
	Totals map[campaign.Status]int64
	Detail string // what it waits for
}

// quiet is how long no event must have come before a run whose rows are all
// delivered counts as settled: a read may follow a delivery at any time, or never.
const quiet = 3 * time.Second

// silence remembers when things last changed, to tell when waiting is over.
type silence struct {
	open, accepted       int64
	answered, progressed time.Time // when open and accepted last changed
}

// observe takes over the counts of now.
func (s *silence) observe(totals map[campaign.Status]int64, now time.Time) {
	if open := totals[campaign.Queued] + totals[campaign.Sending]; open != s.open || s.answered.IsZero() {
		s.open, s.answered = open, now
	}
	if accepted := totals[campaign.Accepted]; accepted != s.accepted || s.progressed.IsZero() {
		s.accepted, s.progressed = accepted, now
	}
}

// over decides whether a run's statuses are worth waiting for any longer. Nothing may be open.
// Then it is over when every row is terminal; when all are at least delivered and no event
// came for a while; or settle after the last answer. Only while the service is still working off the first
// statuses of what it accepted, settle waits for it.
func (s *silence) over(totals map[campaign.Status]int64, now, lastEvent time.Time, settle time.Duration) bool {
	if s.open > 0 {
		return false
	}
	if now.Sub(s.answered) >= settle {
		return s.accepted == 0 || now.Sub(s.progressed) >= min(quiet, settle)
	}
	if totals[campaign.InDoubt]+totals[campaign.Accepted]+totals[campaign.Sent] > 0 {
		return false
	}
	latest := s.answered
	if lastEvent.After(latest) {
		latest = lastEvent
	}
	return totals[campaign.Delivered] == 0 || now.Sub(latest) >= min(quiet, settle)
}

// ledgerPatience is how long run waits for a ledger that cannot be read: PostgreSQL restarts within seconds, and a
// standby is promoted within half a minute.
const ledgerPatience = time.Minute

// sight is what watch reads of a run at once.
type sight struct {
	run       campaign.Run
	totals    map[campaign.Status]int64
	lastEvent time.Time
}

// look reads a run.
func (d *Daemon) look(ctx context.Context, no campaign.RunNo) (s sight, err error) {
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
	return s, nil
}

// watch reports on a run until it is settled, paused, ended otherwise, or ctx ends. A pause that ends by itself is
// waited for as long as a status is, settle: nobody knows when the service approves a template again. A ledger that cannot be
// read is tried again for ledgerPatience.
// It returns the run as it then stands.
func (d *Daemon) watch(ctx context.Context, no campaign.RunNo, settle time.Duration, progress func(Progress)) (campaign.Run, error) {
	var s silence
	var paused time.Time // since when it is; zero while it is not
	wait := settle
	if d.intake == nil {
		wait = 0 // no webhooks are taken: nothing more can come
	}
	p := Progress{Phase: "sending"}
	var away time.Time // since when the ledger cannot be read; zero while it can
	for {
		began := time.Now()
		seen, err := d.look(ctx, no)
		detail := ""
		if err == nil {
			detail, err = d.waiting(ctx, seen.run, seen.totals[campaign.Queued]+seen.totals[campaign.Sending])
		}
		if err != nil {
			if away.IsZero() {
				away = began
			}
			until := away.Add(ledgerPatience)
			if ctx.Err() != nil || errors.Is(err, campaign.ErrNoRun) || !time.Now().Before(until) {
				return seen.run, err
			}
			p.Detail = "the ledger cannot be read, trying again until " + until.UTC().Format("15:04:05 UTC") + ": " + err.Error()
			progress(p)
			t := time.NewTimer(time.Second)
			select {
			case <-ctx.Done():
			case <-t.C:
			}
			t.Stop()
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
		if run.State != campaign.Paused {
			paused = time.Time{}
		} else {
			if p.Phase = "paused"; paused.IsZero() {
				paused = now
			}
			if over = !run.Reason.Self() || now.Sub(paused) >= wait; !over {
				p.Detail += "; waiting until " + paused.Add(wait).UTC().Format("15:04:05 UTC") + " (--settle) for the service to approve it again"
			}
		}
		progress(p)
		// With nothing in doubt the engine is about to finish the run: leaving before would leave it running for ever.
		closing := open == 0 && totals[campaign.InDoubt] == 0 && !run.State.Ended()
		if over || run.State != campaign.Paused && !closing && s.over(totals, now, lastEvent, wait) {
			return run, nil
		}
		// Counting a large run costs; it may take 5 % of the time.
		t := time.NewTimer(max(250*time.Millisecond, 20*now.Sub(began)))
		select {
		case <-ctx.Done():
			t.Stop()
			return run, ctx.Err()
		case <-t.C:
		}
	}
}

// waiting says what binds the run now, when it is something to tell.
func (d *Daemon) waiting(ctx context.Context, run campaign.Run, open int64) (string, error) {
	if run.State == campaign.Paused {
		return fmt.Sprintf("paused (%s): %s", run.Reason, run.Detail), nil
	}
	if run.State == campaign.WaitingApproval {
		return fmt.Sprintf("it waits for approval: `campaignd approve %s`", run.ID()), nil
	}
	if open == 0 {
		return "", nil
	}
	segments, err := d.ledger.SegmentStates(ctx, run.No)
	if err != nil {
		return "", fmt.Errorf("read the segments: %w", err)
	}
	if opens := campaign.WindowOpens(segments, time.Now()); !opens.IsZero() {
		return "its sending window is closed until " + opens.UTC().Format("2006-01-02 15:04 UTC"), nil
	}
	lanes, err := d.ledger.Lanes(ctx, run.No)
	if err != nil {
		return "", fmt.Errorf("read the lanes: %w", err)
	}
	for _, l := range lanes {
		if !l.Gone(time.Now()) && l.LimitedBy != "throughput" && l.LimitedBy != "none" {
			return l.Detail, nil
		}
	}
	return "", nil
}
