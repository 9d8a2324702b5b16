package sender

import "sync"

// breaker counts faults of one kind, of a connection (docs/limits.md#apart-from-the-rate) or of a
// run (docs/states.md#a-run). It trips when breakerSame of the last breakerOf results are the same
// fault.
type breaker struct {
	mu   sync.Mutex
	last [breakerOf]string // codes; "" for anything else
	n    int
}

const (
	breakerOf   = 25
	breakerSame = 20
)

// note adds one result and reports whether the breaker trips. code is "" unless the result was
// the kind of fault that the breaker counts.
func (b *breaker) note(code string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last[b.n%breakerOf] = code
	b.n++
	if code == "" {
		return false
	}
	same := 0
	for _, c := range b.last {
		if c == code {
			same++
		}
	}
	if same >= breakerSame {
		b.last = [breakerOf]string{}
		return true
	}
	return false
}

// forget forgets all results.
func (b *breaker) forget() {
	b.mu.Lock()
	b.last = [breakerOf]string{}
	b.mu.Unlock()
}
