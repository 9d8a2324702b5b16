package ledger

import (
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
)

// Tiers are the connections whose places this process has counted since it sends with a tier over
// them. Before the first such intent a backend counts whom the connection reached in the last 24
// hours: while it had no tier, or in an older version, nothing noted that. The zero value is empty.
type Tiers struct {
	mu    sync.Mutex
	known map[Member]bool
}

// Member is a connection of a portfolio.
type Member struct{ Portfolio, Connection string }

// CountedFor is how far back the messages lie that a first count counts: the platform's moving 24
// hours (docs/limits.md#tier). It needs no margin like that of campaign.ReachFor: it is compared
// with the time of a result, which is after the message left, and not with that of the intent.
const CountedFor = 24 * time.Hour

// Uncounted returns the members of intents with a tier that are not counted yet. A connection that
// sends without a tier now is counted again when it has one.
func (t *Tiers) Uncounted(in []campaign.Intent) (fresh []Member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range in {
		x := &in[i]
		m := Member{Portfolio(x), x.Connection}
		switch {
		case x.Tier.Places <= 0 && len(t.known) > 0:
			for k := range t.known {
				if k.Connection == m.Connection {
					delete(t.known, k)
				}
			}
		case x.Tier.Places > 0 && !t.known[m] && !slices.Contains(fresh, m):
			fresh = append(fresh, m)
		}
	}
	return fresh
}

// Counted notes that a member is counted.
func (t *Tiers) Counted(m Member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[Member]bool{}
	}
	t.known[m] = true
}
