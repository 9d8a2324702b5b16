package webhooks

import (
	"context"
	"sync/atomic"
	"time"
)

// strangers delays the answers to wrong signatures while many come, so that they do not take the
// processor from sending: a stranger who waits for its answer posts less often. The zero value is
// ready.
type strangers struct {
	second  atomic.Int64 // Unix seconds
	came    atomic.Int64 // wrong signatures in second
	waiting atomic.Int64
}

// The first strangersFree wrong signatures of a second are answered at once, such as those of a
// service whose secret was just rotated. Up to strangersMost answers wait at a time, of about 20
// KiB each.
const (
	strangersFree = 100
	strangersMost = 1024
	strangersWait = 250 * time.Millisecond
)

func (s *strangers) wait(ctx context.Context, now time.Time) {
	if second := now.Unix(); s.second.Swap(second) != second {
		s.came.Store(0)
	}
	if s.came.Add(1) <= strangersFree {
		return
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > strangersMost {
		return
	}
	t := time.NewTimer(strangersWait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
