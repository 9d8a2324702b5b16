package throttle_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/throttletest"
	"campaignd/throttle/throughput"
)

func TestLocalKeepsTheContract(t *testing.T) {
	throttletest.RunVirtual(t, func(*testing.T) throttle.Limiter { return throttle.NewLocal() })
}

// Rates that do not divide a second, over an hour, so that errors of floating point would add up:
// no two slots are a nanosecond too close, and none is lost.
func TestLocalSpacesSlotsToTheNanosecond(t *testing.T) {
	for _, limit := range []float64{7, 80, 333.3} {
		synctest.Test(t, func(t *testing.T) {
			l := throttle.NewLocal()
			every := time.Duration(math.Ceil(1e9 / limit))
			moments := rand.New(rand.NewPCG(1, uint64(limit)))
			began := time.Now()
			var sent int
			var last time.Time
			for time.Since(began) < time.Hour {
				got, err := l.Lease(t.Context(), "conn_1", limit, 1+moments.IntN(20))
				if err != nil {
					t.Fatal(err)
				}
				if got.N == 0 {
					time.Sleep(got.Wait + time.Duration(moments.Int64N(int64(throttle.Horizon))))
					continue
				}
				if gap := got.First.Sub(last); sent > 0 && gap != every {
					t.Fatalf("limit %v: after %d slots an interval of %v, want %v", limit, sent, gap, every)
				}
				sent += got.N
				last = got.At(got.N - 1)
			}
			if want := int(3600 * limit); sent < want {
				t.Errorf("limit %v: %d slots in an hour, want %d", limit, sent, want)
			}
		})
	}
}

// Forgetting saves memory only: a key with one message in ten minutes keeps its spacing.
func TestLocalForgetsIdleKeysButNotTheirSpacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := throttle.NewLocal()
		slow, err := l.Lease(t.Context(), "slow", 1.0/600, 1)
		if err != nil || slow.N != 1 {
			t.Fatalf("got %+v, %v, want one slot", slow, err)
		}
		for i := range 1000 {
			if _, err := l.Lease(t.Context(), fmt.Sprint("conn_", i), 80, 1); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Minute)
		again, err := l.Lease(t.Context(), "slow", 1.0/600, 1)
		if err != nil || again.N != 0 || again.Wait < 4*time.Minute {
			t.Errorf("five minutes into an interval of ten: got %+v, %v; want no slot and a wait of 4m or more", again, err)
		}
		if n := l.Keys(); n != 1 {
			t.Errorf("%d keys are remembered after five idle minutes, want 1", n)
		}
	})
}

func BenchmarkLocalLease(b *testing.B) {
	l := throttle.NewLocal()
	for b.Loop() {
		if _, err := l.Lease(context.Background(), "conn_1", throughput.MaxRate, 200); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleLocal() {
	limiter := throttle.NewLocal()
	slots, err := limiter.Lease(context.Background(), "conn_1", 80, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range slots.N {
		time.Sleep(time.Until(slots.At(i))) // then send one message
	}
	fmt.Println(slots.N, "messages,", slots.Interval, "apart")
	// Output: 10 messages, 12.5ms apart
}
