package sender

import (
	"sync/atomic"
	"time"
)

// requestBounds are the upper bounds of the buckets of request times, in seconds. A request ends
// after service.timeout, at most 25 s.
var requestBounds = [...]float64{0.05, 0.1, 0.2, 0.3, 0.5, 1, 2.5, 5, 10, 25}

// requestTimes counts how long the requests that had an answer took, over all connections. The zero
// value is ready, and may be used concurrently.
type requestTimes struct {
	counts [len(requestBounds) + 1]atomic.Uint64 // the last has what is above all bounds
	nanos  atomic.Int64
}

func (r *requestTimes) add(d time.Duration) {
	i := 0
	for i < len(requestBounds) && d.Seconds() > requestBounds[i] {
		i++
	}
	r.counts[i].Add(1)
	r.nanos.Add(int64(d))
}

// RequestTimes is a histogram of the times of the requests that had an answer.
type RequestTimes struct {
	Count   uint64
	Seconds float64            // their sum
	Buckets map[float64]uint64 // how many took at most so many seconds
}

// RequestTimes returns how long the requests took since the engine was made.
func (e *Engine) RequestTimes() RequestTimes {
	t := RequestTimes{Buckets: map[float64]uint64{}}
	for i := range e.times.counts {
		t.Count += e.times.counts[i].Load()
		if i < len(requestBounds) {
			t.Buckets[requestBounds[i]] = t.Count
		}
	}
	t.Seconds = time.Duration(e.times.nanos.Load()).Seconds()
	return t
}
