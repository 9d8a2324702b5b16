package sender

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
)

// plan is the planner: it takes up segments, keeps between one and two groups of shots ahead of
// the poster, fewer where others send too, and parks what has nothing to do.
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
	p.ahead(now, rate)
	queued := p.queue.due(now.Add(p.e.o.Group)) // a run with a limit of its own does not keep the others from asking
	room := 2*group - queued
	if queued > int(p.low.Load()) && !(room >= half(group) && p.e.rounds.joinable()) {
		return min(lookEvery*p.e.o.Tick, max(p.begunAt.Add(begunEvery).Sub(now), p.e.o.Tick)), nil // enough is ahead: the poster says when it is not
	}
	asked, err := p.intend(ctx, now, min(room, p.e.o.GroupMax))
	if err != nil || asked {
		return 0, err
	}
	return p.e.o.Tick, nil
}

// ahead sets how many shots must be ahead of the poster: a group at the rate that this process has had lately, which is
// a part of the number's where other replicas send over it too. So who has a quarter of the rate asks for eight shots at
// a time in place of five. Where that is not known, or the queue ran empty, it is a group at the number's whole rate.
func (p *pacer) ahead(now time.Time, rate float64) {
	if since := now.Sub(p.ownAt); since >= ownEvery {
		posted := p.counts.posted.Load()
		p.own = float64(posted-p.ownPosts) / since.Seconds()
		p.ownAt, p.ownPosts = now, posted
	}
	if p.own == 0 || p.queue.due(now) == 0 {
		p.own = rate
	}
	p.low.Store(int64(p.group(min(p.own, rate))))
}

// ownEvery is how often a number's own rate is measured.
const ownEvery = time.Second
