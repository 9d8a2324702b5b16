package ledger

import "campaignd/campaign"

// TallyPage is how many segments one snapshot counts: 8,192 deliveries, which are sorted in memory.
const TallyPage = 2

// Part is a range of row ids [From, To) whose outcomes are counted together.
type Part struct {
	From, To int64

	done, alive bool            // of its segment: it is done, its lease is live
	rest        campaign.Status // of its deliveries without an outcome
	rows        int64           // deliveries whose outcome is not counted yet
}

// ScanParts reads index, lo, hi and mark of a segment, whether it is done, and whether its lease is
// live. It adds the parts of the segment, below the mark and above it. A segment that is done is
// one part, together with the one before if that is done too.
func ScanParts(no campaign.RunNo, parts []Part, scan func(...any) error) (all []Part, index int64, err error) {
	var lo, hi, mark int64
	var p Part
	if err := scan(&index, &lo, &hi, &mark, &p.done, &p.alive); err != nil {
		return parts, 0, err
	}
	if !p.done {
		below, above := p, p
		below.From, below.To, below.rest, below.rows = RowID(no, lo), RowID(no, mark), Dispatched(p.alive), mark-lo
		above.From, above.To, above.rest, above.rows = RowID(no, mark), RowID(no, hi), campaign.Queued, hi-mark
		return append(parts, below, above), index, nil
	}
	if n := len(parts); n > 0 && parts[n-1].done {
		parts[n-1].To = RowID(no, hi)
		parts[n-1].rows += hi - lo
		return parts, index, nil
	}
	// Each delivery of it has an outcome, unless the ledger is damaged; Audit finds the others.
	p.From, p.To, p.rest, p.rows = RowID(no, lo), RowID(no, hi), campaign.InDoubt, hi-lo
	p.alive = false
	return append(parts, p), index, nil
}

// Count adds a group of outcomes of a part.
func (t *Tally) Count(p *Part, g Group) {
	p.rows -= g.N
	t.fold(g, p.alive)
}

// Rest adds the deliveries of parts that have no outcome.
func (t *Tally) Rest(parts []Part) {
	for _, p := range parts {
		t.add(p.rest, "", p.rows)
	}
}

// Tallies adds up a run, a page of segments at a time. count counts the page behind the segment
// index after in a snapshot of its own, and returns the last index of the page, or -1 when there is
// none. No delivery changes its segment, so the sum is still exact.
func Tallies(count func(after int64) (page *Tally, last int64, err error)) ([]campaign.Tally, campaign.Funnel, error) {
	sum := NewTally()
	for after := int64(-1); ; {
		page, last, err := count(after)
		if err != nil {
			return nil, campaign.Funnel{}, err
		}
		if sum.merge(page); last < 0 {
			return sum.list(), sum.funnel, nil
		}
		after = last
	}
}
