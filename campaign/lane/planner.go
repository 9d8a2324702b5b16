package lane

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
)

// plan is the planner: it takes up segments, keeps one group of shots ahead of
// the poster, and parks what has nothing to do.
func (p *pacer) plan(ctx context.Context) {
	failed, said := time.Duration(0), ""
	var last error
	for ctx.Err() == nil {
		p.heard = false
		wait, err := p.step(ctx)
		switch {
		case err == nil && failed > 0 && !p.heard: // the ledger was not asked: nothing is known of it
			p.heldUp(last)
		case err == nil:
			if failed > 0 {
				p.e.o.Log.Info("the ledger takes sending up again", "connection", p.connection)
			}
			failed, said = 0, ""
		case ctx.Err() != nil:
			return
		default:
			failed = min(max(2*failed, 100*time.Millisecond), 2*time.Second)
			wait, last = failed, err
			p.heldUp(err)
			if why := cause(err); why != said { // once, not at each try
				said = why
				p.e.o.Log.Error("sending is held up by the ledger: trying again until it is not", "connection", p.connection, "err", err)
			}
		}
		if wait <= 0 {
			continue
		}
		t := time.NewTimer(p.jitter("plan", wait))
		select {
		case <-ctx.Done():
		case <-p.poke:
			p.e.calm(ctx, p.connection, p.poke)
		case <-t.C:
		}
		t.Stop()
	}
}

// cause is what an error says without what was being done: several calls meet the same fault in turn.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// heldUp tells `why` that the ledger binds every lane.
func (p *pacer) heldUp(err error) {
	bound := map[campaign.RunNo]binding{}
	for _, r := range p.activeRuns() {
		bound[r.no] = binding{"ledger", "held up by the ledger: " + err.Error()}
	}
	p.mu.Lock()
	p.bound = bound
	p.mu.Unlock()
}

// step does what is due and says how long nothing will be.
func (p *pacer) step(ctx context.Context) (time.Duration, error) {
	now := time.Now()
	p.feed(now, 0, 0)
	rate := p.pace()
	p.binding = map[campaign.RunNo]binding{}
	defer func() {
		busy := map[campaign.RunNo]bool{}
		for _, r := range p.activeRuns() {
			busy[r.no] = p.hasWork(r)
		}
		p.mu.Lock()
		p.bound, p.busy = p.binding, busy
		p.mu.Unlock()
	}()
	if err := p.tend(ctx, now); err != nil {
		return 0, err
	}
	if err := p.claim(ctx, now, rate); err != nil {
		return 0, err
	}
	group := p.group(rate)
	room := 2*group - p.queue.len()
	if room < group { // a whole group is ahead: wait until the poster has taken half of the queue
		return p.e.o.Tick, nil
	}
	asked, err := p.intend(ctx, now, group)
	if err != nil || asked {
		return 0, err
	}
	return p.e.o.Tick, nil
}
