//go:build mutants

package harness

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// drawOf returns the source of one test's random draws.
func drawOf(t *testing.T) *rand.Rand {
	h := *seed
	for _, c := range t.Name() {
		h = h*31 + uint64(c)
	}
	t.Logf("seed %d", *seed)
	return rand.New(rand.NewPCG(*seed, h))
}

// want fails the test when there are problems.
func want(t *testing.T, found []problem) {
	t.Helper()
	if len(found) > 0 {
		t.Errorf("seed %d: got %s, want no problem", *seed, report(found))
	}
}

// posts returns a channel that is closed at the nth POST from now.
func (w *world) posts(nth int64) <-chan struct{} {
	seen, reached := new(atomic.Int64), make(chan struct{})
	w.listen(func(e sandbox.Event) {
		if e.Kind == "post" && seen.Add(1) == nth {
			close(reached)
		}
	})
	return reached
}

// await waits until a process has posted.
func (w *world) await(p *process, reached <-chan struct{}) {
	w.t.Helper()
	select {
	case <-reached:
	case <-p.done:
		w.t.Fatalf("%s: got exit code %d, want POSTs\n%s", p, p.cmd.ProcessState.ExitCode(), tail(p.stderr.String(), 20))
	case <-time.After(lifeLimit):
		w.t.Fatalf("%s: got no POST within %v, want POSTs", p, lifeLimit)
	}
}

// The import is killed in its chunks and at random times. The same command continues it.
func TestAKilledImportHasEachRowOnce(t *testing.T) {
	t.Parallel()
	draw := drawOf(t)
	w := newWorld(t, 1000, nil)
	list := listOf(9000, draw) // five chunks
	w.campaign("orders", "order_update", list)
	begin := func(env ...string) *process { return w.run("orders", env...) }
	for _, nth := range []int{2, 1, 2, 2} { // with 1, 1, 2 and 3 chunks committed
		d := death{window: importChunk, point: "import_chunk", nth: nth}
		if hit, why := w.kill(d, begin); !hit {
			t.Fatalf("%s: got %s, want the kill", d, why)
		}
	}
	for range 4 { // in the rest of the import or soon after it
		d := death{window: anywhere, delay: time.Duration(30+draw.IntN(150)) * time.Millisecond}
		if hit, why := w.kill(d, begin); !hit {
			t.Fatalf("%s: got %s, want the kill", d, why)
		}
	}
	w.finish("orders", time.Minute)
	want(t, w.deliver(3*time.Minute, func() []problem {
		return compare(list, w.lines("latest"), w.sent("order_update"))
	}))
	want(t, w.audited("latest"))
	w.neverPosted(list)
}
