package postgres

import (
	"fmt"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
)

// keyed reports whether the caller gave every recipient's key; otherwise the ledger reads them.
func keyed(in *campaign.Intent) bool {
	return len(in.Keys) == int(max(0, in.To-in.From))+len(in.Retries)
}

// suppressed says why the i-th recipient of an intent, a group's first, must not be sent to.
func (g *grants) suppressed(in *campaign.Intent, i int, rid int64, marketing bool) (why campaign.SkipReason) {
	if !keyed(in) {
		return g.ofRid[rid]
	}
	for _, s := range g.scopes[in.Keys[i]] {
		why = ledger.Stronger(why, ledger.SkipFor(s, marketing))
	}
	return why
}

// decide grants one group. What it answers Held or Fenced is not written.
func (g *grants) decide(in *campaign.Intent) (a campaign.Granted, err error) {
	no := in.Lease.Run
	s, r := g.segments[ledger.SegmentKey(no, in.Lease.Index)], g.runs[int64(no)]
	switch {
	case s == nil || r == nil || s.done || s.mark != in.From:
		return campaign.Granted{Fenced: true}, nil
	// The epoch too, not only the mark: another owner may have moved the mark to the same value (reliability.md 1.3).
	case s.epoch != in.Lease.Epoch && !mutant.On("no_epoch_in_swap"):
		return campaign.Granted{Fenced: true}, nil
	case s.bound != "" && s.bound != plainText(in.Connection):
		return a, fmt.Errorf("run %d segment %d is bound to connection %s and cannot be sent by %s", no, in.Lease.Index, s.bound, in.Connection)
	case in.Connection == "":
		return a, fmt.Errorf("run %d segment %d: an intent needs a connection", no, in.Lease.Index)
	case in.To < in.From || in.To > s.hi:
		return a, fmt.Errorf("run %d segment %d: an intent for %d to %d of %d to %d", no, in.Lease.Index, in.From, in.To, s.lo, s.hi)
	}
	a.To = in.From
	if r.wanted != campaign.WantRun || r.state != campaign.Running && r.state != campaign.Ready {
		a.Held = true
		return a, nil
	}
	group := g.group(in, r.marketing, r.left)
	retries, err := g.choose(in, r.marketing, r.left-group.Count)
	if err != nil {
		return a, err
	}
	count := group.Count + retries.Count
	a.To, a.OverBudget = group.To, r.left == count
	if wrote := group.To > in.From || len(retries.Grant)+len(retries.Skip) > 0; !wrote && (in.To > in.From || retries.Short) {
		a.Held = true // by the budget
		return a, nil
	}
	a.Skipped = ledger.SkippedOf(group, retries)
	s.mark, s.bound, s.wrote = group.To, plainText(in.Connection), true
	s.count += count
	r.left -= count
	r.count += count
	r.start = r.start || r.state == campaign.Ready // resumed while its leases were held
	g.add(no, s, group, retries)
	return a, nil
}

// group walks From..To until the budget ends. What was skipped by the import or is
// suppressed now costs nothing; nor does what is held back, until its own intent.
func (g *grants) group(in *campaign.Intent, marketing bool, left int64) (p ledger.Portion) {
	p.To = in.From
	later := map[int64]campaign.Deferral{}
	for _, d := range in.Defer {
		later[d.Seq] = d
	}
	for seq := in.From; seq < in.To; seq++ {
		r := ledger.RowID(in.Lease.Run, seq)
		d, defers := later[seq]
		switch why := g.suppressed(in, int(seq-in.From), r, marketing); {
		case g.settled[r]:
		case why != "":
			if p.Skip == nil {
				p.Skip = map[int64]campaign.SkipReason{}
			}
			p.Skip[seq] = why
		case defers:
			p.Hold = append(p.Hold, d)
		case p.Count == left:
			return p
		default:
			p.Count++
		}
		p.To = seq + 1
	}
	return p
}

// choose takes the retries that are still due, not suppressed and, if they were never
// counted, within the budget.
func (g *grants) choose(in *campaign.Intent, marketing bool, left int64) (p ledger.Portion, err error) {
	for i, r := range in.Retries {
		if r.Seq < in.Lease.Lo || r.Seq >= in.Lease.Hi {
			return p, fmt.Errorf("run %d: retry of seq %d is not of segment %d", in.Lease.Run, r.Seq, in.Lease.Index)
		}
		id := ledger.RowID(in.Lease.Run, r.Seq)
		w := g.retries[id]
		stale := w == nil || w.state != ledger.Deferred || w.attempt != r.Attempt-1
		var why campaign.SkipReason
		if !stale {
			why = g.suppressed(in, int(in.To-in.From)+i, id, marketing)
		}
		counts := w != nil && w.attempt == 0 // never granted before, or given back
		if !stale && why == "" && counts && p.Count == left {
			p.Short = true
			stale = true
		}
		if stale || why != "" {
			if p.Skip == nil {
				p.Skip = map[int64]campaign.SkipReason{}
			}
			p.Skip[r.Seq] = why
			if why != "" {
				w.state = ledger.Skipped // for a second intent of the same call
			}
			continue
		}
		if counts {
			p.Count++
		}
		w.state, w.attempt = ledger.Retrying, r.Attempt
		p.Grant = append(p.Grant, r)
	}
	if p.Short && len(p.Grant) == 0 && ledger.OnlyEmpty(p.Skip) {
		p.Skip = nil // nothing but the budget stood in their way
	}
	return p, nil
}

// add notes what is to be written for one intent.
func (g *grants) add(no campaign.RunNo, s *sending, group, retries ledger.Portion) {
	for seq, why := range group.Skip {
		g.skipRids, g.skipWhy = append(g.skipRids, ledger.RowID(no, seq)), append(g.skipWhy, string(why))
	}
	for _, d := range group.Hold {
		g.holdRids, g.holdDue, g.holdWhy = append(g.holdRids, ledger.RowID(no, d.Seq)), append(g.holdDue, ledger.Millis(d.At)), append(g.holdWhy, plainText(d.Why))
	}
	for _, r := range retries.Grant {
		g.goRids, g.goAttempts = append(g.goRids, ledger.RowID(no, r.Seq)), append(g.goAttempts, int64(r.Attempt))
		s.retried, s.attempts = append(s.retried, ledger.RowID(no, r.Seq)), append(s.attempts, int64(r.Attempt))
	}
	for seq, why := range retries.Skip {
		if why != "" {
			g.dropRids, g.dropWhy = append(g.dropRids, ledger.RowID(no, seq)), append(g.dropWhy, string(why))
		}
	}
}
