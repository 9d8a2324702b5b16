package throttle_test

import (
	"errors"
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/redistest"
	"campaignd/throttle/throughput"
)

// Each process knows what another one hears and measures, also after that has ended.
func TestProcessesShareWhatTheyMeasured(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, b := connect(t, server.URL(0)), connect(t, server.URL(0))
	share := func(r *throttle.Redis, messages, outside int) throughput.Measured {
		t.Helper()
		got, err := r.Share(t.Context(), "number", throughput.Measured{Messages: messages,
			Usual: throughput.Way{Soonest: time.Duration(messages), Latest: time.Duration(messages), Outside: outside}})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	share(a, 100, 1)
	a.Heard("number", time.Now(), true)
	b.Heard("number", time.Now(), true)
	share(a, 200, 2)
	want := throughput.Measured{Messages: 500, Usual: throughput.Way{Latest: 300, Outside: 5}, Inbound: 2, Heard: true}
	check := func(when string) {
		t.Helper()
		got := share(b, 300, 3)
		if got.Usual.Soonest > 200 || got.Whole.Soonest > 0 { // earlier by as much as the clocks are in doubt
			t.Errorf("%s: the soonest is %v and %v, want at most 200ns and 0", when, got.Usual.Soonest, got.Whole.Soonest)
		}
		got.Usual.Soonest, got.Whole.Soonest = 0, 0
		if got != want {
			t.Errorf("%s: got %+v, want %+v", when, got, want)
		}
	}
	check("of two processes")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	check("after the other ended")
}

// A process that only takes events shares them, and those that the server did not take later.
func TestEventsAreSharedByAProcessThatSendsNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	intake, sender := connect(t, server.URL(0)), connect(t, server.URL(0))
	go intake.Flush(t.Context())
	inbound := func() int {
		got, err := sender.Share(t.Context(), "number", throughput.Measured{Messages: 1})
		if err != nil {
			t.Logf("the server is away: %v", err)
		}
		return got.Inbound
	}
	until := func(want int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); inbound() != want; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d messages a second came in, want %d", inbound(), want)
			}
		}
	}
	for range 3 {
		intake.Heard("number", time.Now(), true)
	}
	until(3)
	server.Kill()
	for range 5 {
		intake.Heard("number", time.Now(), true)
	}
	if _, err := intake.Share(t.Context(), "number", throughput.Measured{}); !errors.Is(err, throttle.ErrUnavailable) {
		t.Errorf("the server is away, and sharing returned %v, want ErrUnavailable", err)
	}
	server.Restart()
	until(5)
}
