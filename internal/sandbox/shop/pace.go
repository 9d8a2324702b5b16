package shop

import (
	"sync"
	"time"

	"campaignd/internal/sandbox/shop/scenario"
)

// pace keeps the requests of a company within its rate limit. It has a lock of its own, because GET
// routes run at the same time.
type pace struct {
	mu   sync.Mutex
	last []time.Time // of the newest requests that were let through, oldest first
}

// wait counts a request and returns 0, or returns how long the company has to wait.
func (p *pace) wait(now time.Time, limit scenario.RateLimit) time.Duration {
	if limit.Requests == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) >= limit.Requests {
		oldest := p.last[len(p.last)-limit.Requests]
		if left := limit.Per - now.Sub(oldest); left > 0 {
			return left
		}
		p.last = p.last[len(p.last)-limit.Requests+1:]
	}
	p.last = append(p.last, now)
	return 0
}
