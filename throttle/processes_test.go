//go:build long

package throttle_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaignd/throttle/redistest"
	"campaignd/throttle/throttletest"
)

// The promise itself: 1, 4 and 8 processes share a number of 20, 80 and 1,000 a second. They pace
// at 0.95 of the limit, the highest factor that is a default (docs/limits.md#pace): what is left
// covers Lateness and 30 ms by which a starved process misjudges Redis's clock.
func TestRedisHoldsTheLimitOverProcesses(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, group := range [][]int{{1, 4}, {8}} {
		// Not all at the same time: 39 processes on two cores would measure the scheduler.
		t.Run(fmt.Sprint(group, " processes"), func(t *testing.T) {
			for i := range 3 * len(group) {
				processes, limit := group[i/3], []float64{20, 80, 1000}[i%3]
				t.Run(fmt.Sprintf("%d/%.0f per second", processes, limit), func(t *testing.T) {
					t.Parallel()
					var mean float64
					var overslept time.Duration
					want := 0.95 * limit
					for attempt := range 3 {
						stop := throttletest.Watch()
						sent := share(t, server.URL(0), fmt.Sprintf("conn_%d_%.0f_%d", processes, limit, attempt), want, processes,
							long(3500*time.Millisecond))
						overslept = stop()
						worst := throttletest.WorstSecond(sent)
						mean = throttletest.MeanRate(sent)
						t.Logf("%d sent, worst second %d, mean %.1f per second; overslept by %v", len(sent), worst, mean, overslept.Round(time.Microsecond))
						if float64(worst) > limit {
							t.Fatalf("%d messages in one second, want at most %v", worst, limit)
						}
						if math.Abs(mean/want-1) <= 0.03 {
							return
						}
						if overslept > throttletest.TooBusy {
							break
						}
					}
					if overslept <= throttletest.Busy {
						t.Fatalf("%.2f per second, want %.2f within 3 %%", mean, want)
					}
					t.Logf("the limit held; the machine was too busy (overslept by %v) to test the pace: %.2f per second, want %.2f",
						overslept, mean, want)
				})
			}
		})
	}
}

// share runs senders as processes and returns the instants when they sent.
func share(t *testing.T, url, key string, rate float64, processes int, d time.Duration) []time.Time {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	outputs := make([]bytes.Buffer, processes)
	children := make([]*exec.Cmd, processes)
	for i := range children {
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %v %d %d", senderVariable, url, key, rate, processes, d.Milliseconds()))
		c.Stdout, c.Stderr = &outputs[i], os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children[i] = c
	}
	var sent []time.Time
	for i, c := range children {
		if err := c.Wait(); err != nil {
			t.Fatalf("sender %d: got %v, want nil", i, err)
		}
		for _, line := range strings.Fields(outputs[i].String()) {
			ns, err := strconv.ParseInt(line, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, time.Unix(0, ns))
		}
	}
	return sent
}
