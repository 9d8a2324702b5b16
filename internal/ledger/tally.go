package ledger

import (
	"cmp"
	"slices"

	"campaignd/campaign"
)

// Merge adds another tally.
func (t *Tally) Merge(o *Tally) {
	for k, n := range o.counts {
		t.counts[k] += n
	}
	a, b := &t.Funnel, o.Funnel
	a.Accepted, a.Sent, a.Delivered = a.Accepted+b.Accepted, a.Sent+b.Sent, a.Delivered+b.Delivered
	a.Read, a.Failed = a.Read+b.Read, a.Failed+b.Failed
	a.Adopted, a.MaybeDuplicate, a.Ambiguous = a.Adopted+b.Adopted, a.MaybeDuplicate+b.MaybeDuplicate, a.Ambiguous+b.Ambiguous
}

// Tally adds up groups of deliveries; both backends fold into it.
type Tally struct {
	counts map[tallyKey]int64
	Funnel campaign.Funnel
}

type tallyKey struct {
	status campaign.Status
	reason string
}

func NewTally() *Tally { return &Tally{counts: map[tallyKey]int64{}} }

func (t *Tally) Add(s campaign.Status, reason string, n int64) {
	if n != 0 {
		t.counts[tallyKey{s, reason}] += n
	}
}

// Group is n outcomes that are alike; the last five count those of them that have it.
type Group struct {
	State                                            Outcome
	Rank                                             Rank
	Code                                             string // of refused and skipped; of failed
	N                                                int64
	Sent, Failed, Adopted, MaybeDuplicate, Ambiguous int64
}

// Fold adds a group. alive tells whether the lease of its segment is live.
func (t *Tally) Fold(g Group, alive bool) {
	t.Add(Shown(g.State, g.Rank, alive), g.Code, g.N)
	t.Funnel.Adopted += g.Adopted
	t.Funnel.MaybeDuplicate += g.MaybeDuplicate
	t.Funnel.Ambiguous += g.Ambiguous
	if g.State != Accepted {
		return
	}
	// What came further came this far too: a read without a delivered was delivered.
	t.Funnel.Accepted += g.N
	t.Funnel.Failed += g.Failed
	switch g.Rank {
	case RankRead:
		t.Funnel.Read += g.N
		fallthrough
	case RankDelivered:
		t.Funnel.Delivered += g.N
		t.Funnel.Sent += g.N
	default:
		t.Funnel.Sent += g.Sent
	}
}

// List gives the counts in the order of reports, then by reason.
func (t *Tally) List() []campaign.Tally {
	all := make([]campaign.Tally, 0, len(t.counts))
	for k, n := range t.counts {
		all = append(all, campaign.Tally{Status: k.status, Reason: k.reason, N: n})
	}
	slices.SortFunc(all, func(a, b campaign.Tally) int {
		return cmp.Or(cmp.Compare(slices.Index(campaign.Statuses, a.Status), slices.Index(campaign.Statuses, b.Status)),
			cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// TallyPage is how many segments are counted in one snapshot: 8,192 deliveries, which are sorted in memory.
const TallyPage = 2
