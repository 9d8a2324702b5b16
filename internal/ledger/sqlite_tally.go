package ledger

import (
	"cmp"
	"context"
	"slices"
	"time"

	"campaignd/campaign"
)

// tally adds up groups of deliveries; both backends fold into it.
type tally struct {
	counts map[tallyKey]int64
	funnel campaign.Funnel
}

type tallyKey struct {
	status campaign.Status
	reason string
}

func newTally() *tally { return &tally{counts: map[tallyKey]int64{}} }

func (t *tally) add(s campaign.Status, reason string, n int64) {
	if n != 0 {
		t.counts[tallyKey{s, reason}] += n
	}
}

// group is n outcomes that are alike; the last five count those of them that have it.
type group struct {
	state                                        outcome
	rank                                         rank
	code                                         string // of refused and skipped; of failed
	n                                            int64
	sent, failed, adopted, maybeTwice, ambiguous int64
}

// fold adds a group. alive tells whether the lease of its segment is live.
func (t *tally) fold(g group, alive bool) {
	t.add(shown(g.state, g.rank, alive), g.code, g.n)
	t.funnel.Adopted += g.adopted
	t.funnel.MaybeDuplicate += g.maybeTwice
	t.funnel.Ambiguous += g.ambiguous
	if g.state != accepted {
		return
	}
	// What came further came this far too: a read without a delivered was delivered.
	t.funnel.Accepted += g.n
	t.funnel.Failed += g.failed
	switch g.rank {
	case rankRead:
		t.funnel.Read += g.n
		fallthrough
	case rankDelivered:
		t.funnel.Delivered += g.n
		t.funnel.Sent += g.n
	default:
		t.funnel.Sent += g.sent
	}
}

// list gives the counts in the order of reports, then by reason.
func (t *tally) list() []campaign.Tally {
	all := make([]campaign.Tally, 0, len(t.counts))
	for k, n := range t.counts {
		all = append(all, campaign.Tally{Status: k.status, Reason: k.reason, N: n})
	}
	slices.SortFunc(all, func(a, b campaign.Tally) int {
		return cmp.Or(cmp.Compare(slices.Index(campaign.Statuses, a.Status), slices.Index(campaign.Statuses, b.Status)), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// tallyPage is how many segments are counted in one snapshot: 8,192 deliveries, which are sorted in memory.
const tallyPage = 2

// Tallies implements campaign.ReportLedger. Each page of segments is counted in a snapshot
// of its own, so a long run does not hold the write-ahead log, and since no delivery
// ever changes its segment the sum is the run's rows all the same.
func (l *SQLite) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	if _, err := l.Run(ctx, no); err != nil {
		return nil, campaign.Funnel{}, err
	}
	sum := newTally()
	for after := int64(-1); ; {
		last := int64(-1)
		if err := l.snapshot(ctx, func(r reader) (err error) {
			last, err = r.tallyFrom(ctx, no, after, sum)
			return err
		}); err != nil {
			return nil, campaign.Funnel{}, err
		}
		if last < 0 {
			return sum.list(), sum.funnel, nil
		}
		after = last
	}
}

type tallySegment struct {
	index, lo, hi, mark int64
	done, alive         bool
}

// tallyFrom counts the page of segments behind after, and returns the last one's index, or -1.
func (r reader) tallyFrom(ctx context.Context, no campaign.RunNo, after int64, sum *tally) (int64, error) {
	now := millis(time.Now())
	var page []tallySegment
	if err := r.each(ctx, `SELECT id & 0xffffffff, lo, hi, mark, done, lease_until > ? FROM segment
		WHERE id > ? AND id < ? ORDER BY id LIMIT ?`, args(now, segmentID(no, after), segmentID(no+1, 0), tallyPage), func(scan func(...any) error) error {
		var s tallySegment
		err := scan(&s.index, &s.lo, &s.hi, &s.mark, &s.done, &s.alive)
		page = append(page, s)
		return err
	}); err != nil || len(page) == 0 {
		return -1, err
	}
	for i := 0; i < len(page); i++ {
		s := page[i]
		if !s.done {
			below, err := r.tallyRange(ctx, rid(no, s.lo), rid(no, s.mark), s.alive, sum)
			if err != nil {
				return -1, err
			}
			above, err := r.tallyRange(ctx, rid(no, s.mark), rid(no, s.hi), s.alive, sum)
			if err != nil {
				return -1, err
			}
			sum.add(dispatched(s.alive), "", s.mark-s.lo-below)
			sum.add(campaign.Queued, "", s.hi-s.mark-above)
			continue
		}
		rows := s.hi - s.lo // neighbours that are done are one range
		first := s.lo
		for i+1 < len(page) && page[i+1].done {
			i++
			s = page[i]
			rows += s.hi - s.lo
		}
		n, err := r.tallyRange(ctx, rid(no, first), rid(no, s.hi), false, sum)
		if err != nil {
			return -1, err
		}
		sum.add(campaign.InDoubt, "", rows-n) // none, unless the ledger is damaged; Audit names them
	}
	return page[len(page)-1].index, nil
}

// tallyRange folds the outcomes of [from, to) and returns how many there are.
func (r reader) tallyRange(ctx context.Context, from, to int64, alive bool, sum *tally) (n int64, err error) {
	if from == to {
		return 0, nil
	}
	err = r.each(ctx, `SELECT state, rank, CASE WHEN state >= 6 THEN code WHEN rank = 2 THEN fail_code ELSE '' END, count(*),
		sum(sent_at > 0), sum(failed_at > 0), sum(flags & 1), sum(flags & 2) / 2, sum(flags & 8) / 8
		FROM outcome WHERE rid >= ? AND rid < ? GROUP BY 1, 2, 3`, args(from, to), func(scan func(...any) error) error {
		var g group
		if err := scan(&g.state, &g.rank, &g.code, &g.n, &g.sent, &g.failed, &g.adopted, &g.maybeTwice, &g.ambiguous); err != nil {
			return err
		}
		n += g.n
		sum.fold(g, alive)
		return nil
	})
	return n, err
}
