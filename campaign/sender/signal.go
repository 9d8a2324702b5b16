package sender

import (
	"context"
	"time"
)

// signal wakes the one goroutine that receives from it. Sending never blocks, and several sends
// before it looks are one. A nil signal wakes nobody.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
