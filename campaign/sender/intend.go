package sender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"
	"campaignd/internal/tracing"
	"campaignd/throttle"
)

// intend commits the next group (see compose) and queues its attempts. It reports whether there was
// anything to ask for. With invites, the other numbers ask at the same time.
func (p *planner) intend(ctx context.Context, now time.Time, n, most int, invites bool) (bool, error) {
	intents, err := p.compose(ctx, now, n, most)
	began := time.Now()
	late := slices.ContainsFunc(intents, func(d draft) bool { return d.overdue(began, 0) })
	if err != nil || len(intents) == 0 || late {
		again(intents, now)
		uncharge(intents)
		return false, err
	}
	if invites {
		p.e.invite(p)
	}
	ask := make([]campaign.Intent, len(intents))
	for i := range intents {
		ask[i] = intents[i].Intent
	}
	intending, span := tracing.Begin(ctx, "commit intents", tracing.Fact{Key: "campaignd.connection", Text: p.number.connection},
		tracing.Fact{Key: "campaignd.rows", Count: int64(len(ask))})
	granted, err := p.e.ledger.Intend(intending, ask)
	if err != nil {
		span.End("not_stored")
		again(intents, now)
		if errors.Is(err, campaign.ErrUnknownCommit) {
			// Nobody may post these: the next owner of the segments writes the doubts.
			for i := range intents {
				intents[i].seg.lost.Store(true)
			}
		} else {
			uncharge(intents)
		}
		return false, fmt.Errorf("commit intents: %w", err)
	}
	span.End("")
	p.heard = true
	p.took(time.Since(began))
	mutant.Crash("intent_committed")
	var attempts []*attempt
	held := 0
	for i := range granted {
		attempts = append(attempts, p.admit(intents[i], granted[i], began)...)
		if granted[i].HeldBy.Scope != "" {
			held++
		}
	}
	p.queue.push(p.stillCharged(intents, attempts))
	return held < len(granted), nil
}

// invite makes the other numbers that send, and have posted since they asked last, commit intents
// now too. The ledger commits calls of about the same time in one transaction
// (docs/decisions/0010-shared-commits.md).
func (e *Engine) invite(p *planner) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.workers {
		if w.planner != p && w.queue.takes() && w.planner.lanes.work() {
			w.planner.invited.Store(true)
			w.planner.poke.send()
		}
	}
}

// stillCharged returns the attempts that may be posted. The ledger took so long to commit the
// others that the count of a quota may have been rebuilt without them: they are queued again.
func (p *planner) stillCharged(intents []draft, attempts []*attempt) []*attempt {
	now := time.Now()
	if !slices.ContainsFunc(intents, func(d draft) bool { return d.overdue(now, throttle.UnitsGrace) }) {
		return attempts
	}
	for _, a := range attempts {
		p.e.rec.record(p.number, a, notPosted(now))
	}
	return nil
}

// draft is an intent in the making.
type draft struct {
	campaign.Intent
	seg    *segment
	rows   []campaign.Delivery // of From..To
	charge *charge             // has units for all of it
}

// again makes the retries of drafts due again: they were not granted.
func again(drafts []draft, now time.Time) {
	for _, d := range drafts {
		if len(d.Retries) > 0 {
			d.seg.due(now)
		}
	}
}

// admit turns a granted intent into attempts.
func (p *planner) admit(d draft, g campaign.Granted, began time.Time) (attempts []*attempt) {
	s := d.seg
	defer func() { d.charge.putBack(len(d.rows) + len(d.Retries) - len(attempts)) }()
	if g.Fenced {
		s.lost.Store(true)
		return nil
	}
	if g.OverBudget {
		s.run.skipRest(campaign.OverLimit) // also when an earlier process has used the budget up
	}
	if g.Denied || g.Limit.By != "" { // retries may be among what was not granted
		again([]draft{d}, began)
	}
	switch {
	case g.HeldBy.Scope != "":
		p.e.holds.learn(g.HeldBy, time.Now())
	case g.Limit.By == campaign.ByWindow: // giveBack parks the segment, or skips what has expired
		p.e.Poke()
	case g.Limit.By != "":
		p.waits.begin(s.run, g.Limit, time.Now())
	case g.Denied:
		if !g.OverBudget {
			s.run.paused.Store(true) // until the next refresh finds it active again
		}
		p.e.Poke()
	}
	if g.Denied {
		return nil
	}
	add := func(dl campaign.Delivery, nth, tries int) {
		if reason, skipped := g.Skipped[dl.Seq]; skipped {
			p.number.counts.skipped.Add(1)
			p.e.o.Log.Debug("skipped at the intent", "run", s.run.id, "row", dl.Row, "reason", reason)
			return
		}
		if due, deferred := g.Deferred[dl.Seq]; deferred {
			s.due(due)
			return
		}
		a := &attempt{segment: s, delivery: dl, nth: nth, tries: tries, intentAt: began, charge: d.charge, pair: d.Pair}
		if d.Tier.Places > 0 || d.Cap != nil || d.Pair {
			a.within = began.Add(campaign.PostWithin)
		}
		attempts = append(attempts, a)
	}
	for _, r := range d.Retries {
		if _, deferred := g.Deferred[r.Seq]; deferred {
			p.fair.turnBack(s.run)
		}
		add(r.Delivery, r.Attempt, r.Tries)
	}
	for i := range d.rows {
		if d.rows[i].Seq >= g.To {
			break
		}
		add(d.rows[i], 1, 0)
	}
	if g.To > s.lease.Mark {
		s.buf = s.buf[min(int(g.To-s.lease.Mark), len(s.buf)):]
		s.lease.Mark = g.To
	}
	s.lease.Connection = p.number.connection
	s.pending.Add(int64(len(attempts)))
	if s.exhausted() {
		s.awaited.Store(true)
	}
	return attempts
}
