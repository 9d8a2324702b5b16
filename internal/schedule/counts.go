package schedule

import (
	"sync"

	"campaignd/campaign"
)

// firingCounts counts the final outcomes of the firings that this process recorded.
type firingCounts struct {
	mu sync.Mutex
	n  map[campaign.FiringOutcome]int64
}

func (c *firingCounts) add(o campaign.FiringOutcome, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[campaign.FiringOutcome]int64{}
	}
	c.n[o] += n
}

func (c *firingCounts) of(o campaign.FiringOutcome) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[o]
}
