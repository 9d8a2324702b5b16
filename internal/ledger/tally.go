package ledger

import (
	"cmp"
	"slices"

	"campaignd/campaign"
)

// Tally adds up deliveries by status and reason, and the funnel of a report.
type Tally struct {
	counts map[tallyKey]int64
	funnel campaign.Funnel
}

type tallyKey struct {
	status campaign.Status
	reason string
}

// NewTally is a tally of nothing.
func NewTally() *Tally { return &Tally{counts: map[tallyKey]int64{}} }

// add adds n deliveries of one status and reason.
func (t *Tally) add(s campaign.Status, reason string, n int64) {
	if n != 0 {
		t.counts[tallyKey{s, reason}] += n
	}
}

// Group is N outcomes of the same state, rank and code.
type Group struct {
	State Outcome
	Rank  Rank
	Code  string // of deferred, refused and skipped deliveries; of failed ones the code of the failure
	N     int64

	Sent, Failed, Adopted, MaybeDuplicate, Ambiguous int64 // how many of them have the time or the flag
}

// Scan reads state, rank, code, how many there are, and how many have the time of sent, of failed,
// and the flags adopted, may be a duplicate and ambiguous. before are columns before these.
func (g *Group) Scan(scan func(...any) error, before ...any) error {
	return scan(append(before, &g.State, &g.Rank, &g.Code, &g.N, &g.Sent, &g.Failed, &g.Adopted, &g.MaybeDuplicate, &g.Ambiguous)...)
}

// fold adds a group. alive tells whether the lease of its segment is live.
func (t *Tally) fold(g Group, alive bool) {
	t.add(shown(g.State, g.Rank, alive), g.Code, g.N)
	t.funnel.Adopted += g.Adopted
	t.funnel.MaybeDuplicate += g.MaybeDuplicate
	t.funnel.Ambiguous += g.Ambiguous
	if g.State != Accepted {
		return
	}
	// A later status implies the earlier ones: a message that was read was delivered and sent.
	t.funnel.Accepted += g.N
	t.funnel.Failed += g.Failed
	switch g.Rank {
	case RankRead:
		t.funnel.Read += g.N
		fallthrough
	case RankDelivered:
		t.funnel.Delivered += g.N
		t.funnel.Sent += g.N
	default:
		t.funnel.Sent += g.Sent
	}
}

// list gives the counts in the order of reports, then by reason.
func (t *Tally) list() []campaign.Tally {
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

// merge adds what another tally counted.
func (t *Tally) merge(o *Tally) {
	for k, n := range o.counts {
		t.counts[k] += n
	}
	a, b := &t.funnel, o.funnel
	a.Accepted, a.Sent, a.Delivered = a.Accepted+b.Accepted, a.Sent+b.Sent, a.Delivered+b.Delivered
	a.Read, a.Failed = a.Read+b.Read, a.Failed+b.Failed
	a.Adopted, a.MaybeDuplicate, a.Ambiguous = a.Adopted+b.Adopted, a.MaybeDuplicate+b.MaybeDuplicate, a.Ambiguous+b.Ambiguous
}
