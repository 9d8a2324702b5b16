package webhooks

import (
	"sync"
	"time"

	"campaignd/campaign"
)

// maxPairs bounds the pairs of a day in memory: about 10 MB.
const maxPairs = 100_000

// pairs are the pairs that the ledger was told today, so that at most one of the three statuses of
// a message writes a pair.
type pairs struct {
	mu   sync.Mutex
	day  int64
	told map[pair]bool
}

type pair struct {
	user string
	key  int64
}

// known reports whether the ledger was told of the pair today.
func (p *pairs) known(of campaign.Pair, now time.Time) bool {
	if of.Key == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told[pair{of.UserID, of.Key}] && p.day == dayOf(now)
}

// stored notes pairs that are committed.
func (p *pairs) stored(all []campaign.Pair, now time.Time) {
	if len(all) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	day := dayOf(now)
	for _, of := range all {
		if of.Key == 0 {
			continue
		}
		if p.told == nil || p.day != day || len(p.told) >= maxPairs {
			p.day, p.told = day, map[pair]bool{}
		}
		p.told[pair{of.UserID, of.Key}] = true
	}
}

func dayOf(at time.Time) int64 { return at.Unix() / (24 * 60 * 60) }
