package throttletest

import (
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

// comesIn: the messages of a key count by the second, at their own time if they come late, for 10
// minutes. An event that is no message tells that events come in.
func comesIn(t *testing.T, s suite, l throttle.Limiter) {
	shared, ok := l.(throttle.Sharer)
	if !ok {
		t.Fatalf("%T is no Sharer", l)
	}
	own := throughput.Measured{Messages: 3, Usual: throughput.Way{Latest: time.Millisecond, Outside: 2}, Refused: time.Unix(9, 0).UTC()}
	want := func(when, key string, inbound int, heard bool) {
		t.Helper()
		got, err := shared.Share(t.Context(), key, own)
		want := own
		want.Inbound, want.Heard = inbound, heard
		got.Usual.Soonest, got.Whole.Soonest = 0, 0 // earlier by as much as the clocks are in doubt
		if err != nil || got != want {
			t.Errorf("%s: %+v (%v), want %+v", when, got, err, want)
		}
	}
	began := time.Now()
	in := func(n int, at time.Time) {
		for range n {
			shared.Heard("number", at, true)
		}
	}
	want("at first", "number", 0, false)
	shared.Heard("number", time.Time{}, false)
	want("after a status", "number", 0, true)
	in(5, began)
	want("after five messages", "number", 5, true)
	in(4, began.Add(-5*time.Minute))
	want("after four of another second", "number", 5, true)
	in(2, began.Add(-5*time.Minute))
	want("after two more of that", "number", 6, true)
	in(50, began.Add(-11*time.Minute))
	want("after old ones", "number", 6, true)
	want("another number", "another number", 0, false)
	if s.tick > 0 {
		return // real time
	}
	for range 12 {
		in(2, time.Now())
		time.Sleep(time.Minute)
	}
	in(2, time.Now())
	in(2, time.Now().Add(time.Hour))
	own.Quiet = 2
	want("when each minute had two, and two of the future came", "number", 4, true)
	own.Quiet = 0
	time.Sleep(12 * time.Minute)
	want("when nothing came in for 10 minutes", "number", 0, false)
}
