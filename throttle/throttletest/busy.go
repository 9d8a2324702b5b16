package throttletest

import (
	"sync"
	"sync/atomic"
	"time"
)

// Busy is how far off this machine wakes a sleeper above which a mean rate says more about the machine
// than about the limiter: the daemon's pacer asks for its next lease 50 ms ahead.
const Busy = 15 * time.Millisecond

// TooBusy is how far off it wakes a sleeper when a second attempt would tell as little as the first.
const TooBusy = 4 * Busy

// Watch measures, until stopped, by how much this process oversleeps at worst. A limit must hold however busy
// a machine is; a mean rate can be asked for only from one that is not.
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
