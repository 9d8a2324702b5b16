package throughput_test

import (
	"testing"
	"time"

	"campaignd/throttle/throughput"
)

// meter sends messages 10 ms apart.
type meter struct {
	throughput.Measure
	at time.Time
}

func (m *meter) send(n int, delay, answer time.Duration) {
	for range n {
		m.at = m.at.Add(10 * ms)
		written := m.at.Add(delay)
		m.Sent(m.at, written, written.Add(answer))
	}
}

// A way that becomes less even counts at once, one that becomes more even after another 10,000
// messages.
func TestBoundsWidenAtOnceAndNarrowLater(t *testing.T) {
	m := &meter{at: time.Unix(0, 0)}
	want := func(when string, latest, slow time.Duration) {
		t.Helper()
		r := m.Report()
		if r.Whole.Latest != latest || r.Whole.Slow != slow {
			t.Errorf("%s: up to %v and %v, want %v and %v", when, r.Whole.Latest, r.Whole.Slow, latest, slow)
		}
	}
	m.send(2000, ms, 50*ms)
	want("at first", ms, 50*ms)
	m.send(1, 9*ms, 70*ms)
	want("after one late message", 9*ms, 70*ms)
	m.send(7999, ms, 50*ms)
	want("after 10,000", 9*ms, 70*ms)
	m.send(10_000, ms, 50*ms)
	want("after 20,000", 9*ms, 70*ms)
	m.send(1, ms, 50*ms)
	want("in the next 10,000", ms, 50*ms)
	m.Missed(30 * ms)
	want("after a slot that was missed", 30*ms, 50*ms)
	m.Missed(time.Hour)
	want("after a suspension", 35*ms, 50*ms)
}

// A thousandth of the messages at each end is outside of the usual bounds, and those of the worst
// second count.
func TestOutliersAreCountedByTheSecond(t *testing.T) {
	m := &meter{at: time.Unix(0, 0)}
	for range 400 {
		m.send(9, ms, 50*ms)
		m.send(1, 2*ms, 60*ms)
	}
	if r := m.Report(); r.Messages != 4000 || r.Usual.Outside != 0 || r.Usual.Latest > 2200*time.Microsecond {
		t.Fatalf("%+v, want 4,000 messages, none outside, up to 2 ms", r)
	}
	for range 3 { // 3 in a second, then one in each 2 s
		m.send(1, 20*ms, 50*ms)
		m.send(20, ms, 50*ms)
	}
	for range 2 {
		m.send(200, ms, 50*ms)
		m.send(1, ms, 300*ms)
	}
	r := m.Report()
	if r.Usual.Outside != 3 || r.Usual.Latest > 3*ms || r.Whole.Latest != 20*ms {
		t.Errorf("%d outside up to %v, %v in all; want 3 up to 2 ms, 20 ms", r.Usual.Outside, r.Usual.Latest, r.Whole.Latest)
	}
	if r.Usual.Quick > 50*ms || r.Usual.Quick < 48*ms || r.Usual.Slow < 60*ms || r.Usual.Slow > 63*ms {
		t.Errorf("answers from %v to %v, want 50 to 60 ms within a 32nd", r.Usual.Quick, r.Usual.Slow)
	}
}

func TestEveryDurationHasItsStep(t *testing.T) {
	for _, d := range []time.Duration{0, 2, 61, 63, 64, 65, 126, 127, 128, 129, 1000, 34_999, 1e6, 9e6} {
		m := &meter{at: time.Unix(0, 0)}
		d *= time.Microsecond
		m.send(1, d, 1000*time.Hour)
		if r := m.Report(); r.Usual.Soonest > d || r.Usual.Latest <= d || r.Usual.Latest-r.Usual.Soonest > d/30+2*time.Microsecond {
			t.Errorf("%v is in the step from %v to %v, want one around it of at most a 32nd", d, r.Usual.Soonest, r.Usual.Latest)
		}
	}
}
