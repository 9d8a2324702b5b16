package ledger

import (
	"cmp"
	"slices"

	"campaignd/campaign"
)

// TallyPage is how many segments one snapshot counts: 8,192 deliveries, which are sorted in memory.
const TallyPage = 2

// Tally adds up deliveries by status and reason, and the funnel of a report.
type Tally struct {
	counts map[tallyKey]int64
	Funnel campaign.Funnel
}

type tallyKey struct {
	status campaign.Status
	reason string
}

// NewTally is a tally of nothing.
func NewTally() *Tally { return &Tally{counts: map[tallyKey]int64{}} }

// Add adds n deliveries of one status and reason.
func (t *Tally) Add(s campaign.Status, reason string, n int64) {
	if n != 0 {
		t.counts[tallyKey{s, reason}] += n
	}
}

// Group is N outcomes of the same state, rank and code.
type Group struct {
	State Outcome
	Rank  Rank
	Code  string // of refused and skipped deliveries; of failed ones the code of the failure
	N     int64

	Sent, Failed, Adopted, MaybeDuplicate, Ambiguous int64 // how many of them have the time or the flag
}

// Fold adds a group. alive tells whether the lease of its segment is live.
func (t *Tally) Fold(g Group, alive bool) {
	t.Add(shown(g.State, g.Rank, alive), g.Code, g.N)
	t.Funnel.Adopted += g.Adopted
	t.Funnel.MaybeDuplicate += g.MaybeDuplicate
	t.Funnel.Ambiguous += g.Ambiguous
	if g.State != Accepted {
		return
	}
	// A later status implies the earlier ones: a message that was read was delivered and sent.
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

// Merge adds what another tally counted.
func (t *Tally) Merge(o *Tally) {
	for k, n := range o.counts {
		t.counts[k] += n
	}
	a, b := &t.Funnel, o.Funnel
	a.Accepted, a.Sent, a.Delivered = a.Accepted+b.Accepted, a.Sent+b.Sent, a.Delivered+b.Delivered
	a.Read, a.Failed = a.Read+b.Read, a.Failed+b.Failed
	a.Adopted, a.MaybeDuplicate, a.Ambiguous = a.Adopted+b.Adopted, a.MaybeDuplicate+b.MaybeDuplicate, a.Ambiguous+b.Ambiguous
}
