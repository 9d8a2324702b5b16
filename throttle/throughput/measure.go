package throughput

import (
	"math/bits"
	"sync"
	"time"
)

const (
	blockSize = 10_000 // messages after which bounds may become narrower
	// reliable is from how many messages on a thousandth of them is one: before, no message counts as
	// outside, and bounds that were wide for a moment are not kept.
	reliable = 1000
)

// Measure measures the way of one number's messages over the last 10,000 to 20,000 of them. Bounds
// that become wider count at the next Report, narrower ones when another 10,000 messages were
// measured. The zero value is ready. It is safe for concurrent use.
type Measure struct {
	mu        sync.Mutex
	messages  int
	last, now block
	kept      Measured    // the widest of the present block so far
	narrow    bool        // a block has ended: the bounds may become narrower
	outside   []time.Time // when the last messages outside of the bounds were answered
}

// block is up to blockSize messages.
type block struct {
	n             int
	delay, answer histogram
	whole         Way
	outside       int
}

// Sent notes a message: its slot, when its last byte was written, and when the answer came.
func (m *Measure) Sent(slot, written, answered time.Time) {
	delay, answer := max(written.Sub(slot), 0), max(answered.Sub(written), 0)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(delay, answer)
	m.now.answer.add(answer)
	u := m.kept.Usual
	if m.kept.Messages < reliable || delay >= u.Soonest && delay <= u.Latest && answer >= u.Quick && answer <= u.Slow {
		return
	}
	for len(m.outside) > 0 && answered.Sub(m.outside[0]) >= time.Second {
		m.outside = m.outside[1:]
	}
	m.outside = append(m.outside, answered)
	m.now.outside = max(m.now.outside, len(m.outside))
}

// Missed notes a slot that was not used because it was older than permitted: a way that became less
// even permits a longer delay, at a lower rate.
func (m *Measure) Missed(late time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now.n > 0 && m.now.n < blockSize { // a block begins with a message
		m.add(min(late, Lateness), -1)
	}
}

// add notes a delay, and an answer if it is not negative.
func (m *Measure) add(delay, answer time.Duration) {
	if m.now.n == blockSize {
		m.last, m.now, m.narrow = m.now, block{}, true
	}
	b := &m.now
	b.delay.add(delay)
	w := Way{Soonest: delay, Latest: delay, Quick: answer, Slow: answer}
	if answer < 0 {
		w.Quick, w.Slow = b.whole.Quick, b.whole.Slow
	}
	if b.n > 0 {
		w = w.Widen(b.whole)
	}
	b.whole = w
	b.n++
	m.messages++
}

// Report is what was measured. Inbound, Heard and Refused are left to the caller.
func (m *Measure) Report() Measured {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now.n == 0 {
		return m.kept
	}
	next := Measured{Messages: m.messages, Whole: m.now.whole}
	if m.last.n > 0 {
		next.Whole = next.Whole.Widen(m.last.whole)
	}
	next.Usual.Soonest, next.Usual.Latest = middle(&m.last.delay, &m.now.delay)
	next.Usual.Quick, next.Usual.Slow = middle(&m.last.answer, &m.now.answer)
	next.Usual.Outside = max(m.last.outside, m.now.outside)
	if m.kept.Messages >= reliable && !m.narrow {
		next.Usual, next.Whole = next.Usual.Widen(m.kept.Usual), next.Whole.Widen(m.kept.Whole)
	}
	m.kept, m.narrow = next, false
	return next
}

// histogram counts durations in steps of a 32nd of their size, and of 2 us below 64 us.
type histogram struct {
	n     int
	steps [32 * 21]uint16 // up to 2^21 x 2 us: longer ones count as that
}

const stepBits = 5 // 2^5 steps double a duration

func (h *histogram) add(d time.Duration) {
	x := uint64(d.Microseconds() / 2) //nolint:gosec // not negative
	i := int(x)                       //nolint:gosec // used below 32 only
	if x >= 1<<stepBits {
		e := bits.Len64(x) - stepBits - 1
		i = (e+1)<<stepBits + int(x>>e) - 1<<stepBits //nolint:gosec // below 64
	}
	h.steps[min(i, len(h.steps)-1)]++
	h.n++
}

// edge is the least duration of a step.
func edge(i int) time.Duration {
	if i < 1<<stepBits {
		return time.Duration(2*i) * time.Microsecond
	}
	e := i>>stepBits - 1
	return time.Duration(2*(i&(1<<stepBits-1)+1<<stepBits)<<e) * time.Microsecond
}

// middle is the bounds of all durations but a thousandth at each end.
func middle(a, b *histogram) (least, most time.Duration) {
	left := (a.n + b.n) / 1000
	low, high := 0, len(a.steps)-1
	for n := 0; low < high; low++ {
		if n += int(a.steps[low]) + int(b.steps[low]); n > left {
			break
		}
	}
	for n := 0; high > low; high-- {
		if n += int(a.steps[high]) + int(b.steps[high]); n > left {
			break
		}
	}
	return edge(low), edge(high + 1)
}
