package throttle_test

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"campaignd/throttle"
)

// service is what a number meets in the simulation.
type service struct {
	limit  func(at time.Duration) float64 // messages in a sliding second; nil: none
	random float64                        // part of the messages that it throttles whatever the rate
	late   [2]time.Duration               // least and greatest time to an answer; default 100 to 400 ms
}

// still is a limit that does not move.
func still(limit float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return limit }
}

// sent is one message: when it met the service, and whether the service took it.
type sent struct {
	at       time.Duration
	accepted bool
}

// event is what happens at an instant of the simulation.
type event struct {
	at time.Duration
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// scene is replicas that share a number, and the service that they send to.
type scene struct {
	*testing.T
	limiters []throttle.Limiter // one for each replica
	pace     float64
	service  service

	random *rand.Rand
	began  time.Time
	next   events
	window []time.Duration // what the service accepted in the last second
	sent   []sent
}

// play lets the replicas send as fast as they may, in the fake time of a synctest bubble, in one
// goroutine. Messages arrive up to 20 ms after their slots.
func (s *scene) play(total time.Duration, seed uint64) []sent {
	s.random, s.began = rand.New(rand.NewPCG(seed, 1)), time.Now()
	if s.service.late[1] == 0 {
		s.service.late = [2]time.Duration{100 * time.Millisecond, 400 * time.Millisecond}
	}
	for _, l := range s.limiters {
		s.at(s.upTo(50*time.Millisecond), func() { s.ask(l) })
	}
	for {
		e := heap.Pop(&s.next).(event)
		if e.at > total {
			return s.sent
		}
		time.Sleep(time.Until(s.began.Add(e.at)))
		e.do()
	}
}

func (s *scene) at(at time.Duration, do func()) { heap.Push(&s.next, event{at, do}) }

func (s *scene) upTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d) + 1))
}

// ask leases slots for 200 ms, as the sender does, and again when they are used.
func (s *scene) ask(l throttle.Limiter) {
	got, err := l.Lease(s.Context(), "number", s.pace, int(min(max(s.pace/5, 1), 200)))
	if err != nil {
		s.Fatal(err)
	}
	if got.Rate > s.pace || got.N > 0 && got.Interval.Seconds() < 1/s.pace {
		s.Errorf("slots at %v per second every %v, want at most the pace, %v", got.Rate, got.Interval, s.pace)
	}
	now := time.Since(s.began)
	if got.N == 0 {
		s.at(now+max(got.Wait, time.Millisecond), func() { s.ask(l) })
		return
	}
	for i := range got.N {
		arrives := got.At(i).Sub(s.began) + s.upTo(20*time.Millisecond)
		s.at(arrives, func() {
			taken := s.meet(arrives)
			s.sent = append(s.sent, sent{arrives, taken})
			s.at(arrives+s.service.late[0]+s.upTo(s.service.late[1]-s.service.late[0]),
				func() { l.Observe("number", got.Stage, !taken) })
		})
	}
	s.at(max(now, got.At(got.N-1).Sub(s.began)), func() { s.ask(l) })
}

// meet is the service: whether it takes the message that arrives now.
func (s *scene) meet(now time.Duration) bool {
	if s.random.Float64() < s.service.random {
		return false
	}
	if s.service.limit == nil {
		return true
	}
	for len(s.window) > 0 && now-s.window[0] >= time.Second {
		s.window = s.window[1:]
	}
	if float64(len(s.window)+1) > s.service.limit(now) {
		return false
	}
	s.window = append(s.window, now)
	return true
}

// measure is the messages accepted in a second and the part that was refused, from and until.
func measure(all []sent, from, until time.Duration) (accepted, refused float64) {
	var n float64
	for _, m := range all {
		if m.at >= from && m.at < until {
			n++
			if !m.accepted {
				refused++
			}
		}
	}
	return (n - refused) / (until - from).Seconds(), refused / math.Max(1, n)
}
