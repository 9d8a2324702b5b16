package throttle_test

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

// before is how long messages come in before the first one leaves.
const before = 10 * time.Minute

// uneven is a number whose way to the service is uneven, the replicas that send over it at a pace
// that they learn, and the service, which counts what arrives in both directions.
type uneven struct {
	*testing.T
	limit       float64
	jitter      time.Duration // by how much more than the quickest a message, and an answer, may take
	inbound     float64       // messages a second that come in
	independent bool          // of each other; else one in each interval
	replicas    int
	falls       time.Duration // when the limit falls to half; 0: never

	limiter *throttle.Local
	random  *rand.Rand
	began   time.Time
	next    events
	senders []learner
	refused time.Time // when a message was
	flying  []flying
	fallen  []sent // since the limit fell
	count   tally
}

// learner is one replica.
type learner struct {
	measure throughput.Measure
	learned throughput.Learned
	shared  time.Duration // when it last shared what it measured
}

// flying is a message that was written.
type flying struct {
	by                               *learner
	slot, written, arrives, answered time.Duration
	stage                            int64
	arrived, taken                   bool
}

// tally is the service's own count.
type tally struct {
	out, in     []time.Duration // what was taken, and what came in, in the last second
	inboundMost int
	over        int // messages in whose sliding second there were more than the limit
	sent        int
}

func (u *uneven) upTo(d time.Duration) time.Duration {
	return time.Duration(u.random.Int64N(int64(d) + 1))
}

func (u *uneven) at(at time.Duration, do func()) { heap.Push(&u.next, event{at, do}) }

func (u *uneven) instant(at time.Duration) time.Time { return u.began.Add(at) }

// play lets the replicas send as fast as they may for so long.
func (u *uneven) play(total time.Duration, seed uint64) {
	u.limiter, u.random, u.began = throttle.NewLocal(), rand.New(rand.NewPCG(seed, 3)), time.Now()
	u.senders = make([]learner, u.replicas)
	u.comeIn(0, 0)
	u.at(0, func() { u.status(0) })
	for i := range u.senders {
		u.at(before+u.upTo(50*time.Millisecond), func() { u.ask(&u.senders[i]) })
	}
	for {
		e := heap.Pop(&u.next).(event)
		if e.at > total+before {
			return
		}
		time.Sleep(time.Until(u.instant(e.at)))
		u.settle(e.at)
		e.do()
	}
}

// status tells once a minute that events come in.
func (u *uneven) status(now time.Duration) {
	u.limiter.Heard("number", u.instant(now), false)
	u.at(now+time.Minute, func() { u.status(now + time.Minute) })
}

// comeIn draws when the next message comes in: a random one, independently of those before, else at
// a random instant of the n-th interval. It is told up to half a second later, with its second as
// its own time.
func (u *uneven) comeIn(last time.Duration, n int64) {
	if u.inbound == 0 {
		return
	}
	interval := time.Duration(float64(time.Second) / u.inbound)
	at := time.Duration(n)*interval + u.upTo(interval)
	if u.independent {
		at = last + time.Duration(u.random.ExpFloat64()*float64(interval))
	}
	u.at(at, func() {
		u.count.in = append(lately(u.count.in, at), at)
		if at > before {
			u.count.inboundMost = max(u.count.inboundMost, len(u.count.in))
		}
		u.at(at+u.upTo(500*time.Millisecond), func() { u.limiter.Heard("number", u.instant(at).Truncate(time.Second), true) })
		u.comeIn(at, n+1)
	})
}

// ask leases slots for 200 ms and uses them as the sender does: those that lie close at the instant
// of the last one, and none that is too old.
func (u *uneven) ask(by *learner) {
	now := time.Since(u.began)
	if by.shared == 0 || now-by.shared >= time.Second {
		u.learn(by, now)
	}
	rate := by.learned.Rate
	got, err := u.limiter.Lease(u.Context(), "number", rate, int(min(max(rate/5, 1), 200)))
	if err != nil {
		u.Fatal(err)
	}
	if got.N == 0 {
		u.at(now+max(got.Wait, time.Millisecond), func() { u.ask(by) })
		return
	}
	last, used := -1, now
	for i := range got.N {
		slot := got.At(i).Sub(u.began)
		if i > last {
			last = min(i+1+int(throughput.Together/got.Interval), got.N) - 1
			used = max(used, got.At(last).Sub(u.began)) + u.upTo(time.Millisecond)
		}
		if used-slot > by.learned.Late {
			by.measure.Missed(used - slot)
			continue
		}
		arrives := used + 2*time.Millisecond + u.upTo(u.jitter)
		u.flying = append(u.flying, flying{by: by, slot: slot, written: used, arrives: arrives,
			answered: arrives + 50*time.Millisecond + u.upTo(u.jitter), stage: got.Stage})
	}
	u.at(max(now, used), func() { u.ask(by) })
}

// learn shares what was measured. All replicas share one process's limiter here, so their measures
// are added by hand.
func (u *uneven) learn(by *learner, now time.Duration) {
	by.shared = now
	own := throughput.Measured{}
	for i := range u.senders {
		own = own.Merge(u.senders[i].measure.Report())
	}
	own.Refused = u.refused
	all, err := u.limiter.Share(u.Context(), "number", own)
	if err != nil {
		u.Fatal(err)
	}
	by.learned = throughput.Number{Limit: u.limit}.Pace().Learn(all, time.Now())
}

// settle lets what is under way arrive, and be answered, until now.
func (u *uneven) settle(now time.Duration) {
	slices.SortFunc(u.flying, func(a, b flying) int { return int(a.arrives - b.arrives) })
	for i := range u.flying {
		if m := &u.flying[i]; !m.arrived && m.arrives <= now {
			m.arrived, m.taken = true, u.meet(m.arrives)
		}
	}
	slices.SortFunc(u.flying, func(a, b flying) int { return int(a.answered - b.answered) })
	n := 0
	for _, m := range u.flying {
		if m.answered > now {
			break
		}
		n++
		m.by.measure.Sent(u.instant(m.slot), u.instant(m.written), u.instant(m.answered))
		u.limiter.Observe("number", m.stage, !m.taken)
		if !m.taken {
			u.refused = u.instant(m.answered)
		}
	}
	u.flying = slices.Delete(u.flying, 0, n)
}

// meet is the service: whether it takes the message that arrives now.
func (u *uneven) meet(now time.Duration) bool {
	c := &u.count
	c.out, c.in = lately(c.out, now), lately(c.in, now)
	c.sent++
	if u.falls > 0 && now >= before+u.falls {
		taken := float64(len(c.out)+len(c.in)+1) <= u.limit/2
		u.fallen = append(u.fallen, sent{now, taken})
		if !taken {
			return false
		}
	}
	c.out = append(c.out, now)
	if float64(len(c.out)+len(c.in)) > u.limit {
		c.over++
	}
	return true
}

// lately is what is less than a second old.
func lately(all []time.Duration, now time.Duration) []time.Duration {
	n := 0
	for n < len(all) && now-all[n] >= time.Second {
		n++
	}
	return all[n:]
}
