package throttletest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Busy is the oversleep above which a mean rate says more about the machine than about the limiter:
// a sender asks for its next lease 50 ms ahead.
const Busy = 15 * time.Millisecond

// TooBusy is the oversleep above which another attempt would prove as little as the first.
const TooBusy = 4 * Busy

// Watch measures, until stopped, by how much this process oversleeps at worst. A limit must hold
// however busy a machine is. A mean rate can be demanded only on a machine that is not busy.
func Watch() (stop func() (worst time.Duration)) {
	const nap = 2 * time.Millisecond
	var worst atomic.Int64
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			began := time.Now()
			select {
			case <-done:
				return
			case <-time.After(nap):
			}
			worst.Store(max(worst.Load(), int64(time.Since(began)-nap)))
		}
	})
	return func() time.Duration {
		close(done)
		wg.Wait()
		return time.Duration(worst.Load())
	}
}

// Soon fails the test if something took longer than most, unless the machine was busy meanwhile:
// then the time says more about the machine. overslept is what Watch measured.
func Soon(t testing.TB, what string, took, most, overslept time.Duration) {
	t.Helper()
	switch {
	case took <= most:
	case overslept > Busy:
		t.Logf("%s took %v; the machine was too busy (overslept by %v) to demand %v", what, took, overslept, most)
	default:
		t.Errorf("%s took %v, want at most %v", what, took, most)
	}
}
