package sender

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// flight counts the posts of a number that are under way. One goroutine begins them, any ends them.
type flight struct {
	n     atomic.Int64
	ended signal // sent when a post ends
}

func newFlight() flight { return flight{ended: newSignal()} }

func (f *flight) begin() { f.n.Add(1) }

func (f *flight) end() {
	f.n.Add(-1)
	f.ended.send()
}

// fewUnanswered is how many posts may always be under way. A service that swallows requests gets no
// more of a number before the first time-out, unless its answers used to take long.
const fewUnanswered = 30

// mostUnanswered is how many posts of the number may be under way: three times what is usual at its
// rate. A service that falls silent is so noticed long before the time-out
// (docs/limits.md#slots).
func (n *number) mostUnanswered() int {
	usual := time.Duration(n.latency.ns.Load()) // 0: no answer yet
	most := fewUnanswered
	if usual > 0 {
		most = max(most, int(math.Ceil(3*n.pace()*usual.Seconds())))
	}
	return min(most, n.o.MaxInFlight)
}

// full reports whether no more posts may begin before one ends. Answers in a row that prove nothing
// count as posts under way: while the requests to a silent service time out, none is posted
// instead. The breaker trips before they alone reach mostUnanswered.
func (p *poster) full() bool {
	under, most := p.underWay()
	return under >= most
}

// underWay is how many posts count as under way, and how many may.
func (p *poster) underWay() (under, most int) {
	under, most = int(p.inFlight.n.Load()), p.number.mostUnanswered()
	if under > 0 && most >= breakerSame {
		under += p.number.circuit.withoutProof()
	}
	return under, most
}

// places is how many slots may wait for each other: as many as can post at once, or an eighth of
// all that ever can. More would keep free places empty until the last slot's instant; fewer would
// wake the process for each answer.
func (p *poster) places() int {
	under, most := p.underWay()
	return max(most-under, most/8, 1)
}

// enter begins one more post. While the service stalls it waits for an answer, and the slots that
// pass meanwhile are forfeited. It reports false when ctx ended first.
func (p *poster) enter(ctx context.Context) bool {
	for p.full() {
		select {
		case <-p.inFlight.ended:
		case <-ctx.Done():
			return false
		}
	}
	p.inFlight.begin()
	return true
}
