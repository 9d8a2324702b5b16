package webhooks

import (
	"context"
	"sync/atomic"
	"time"
)

// wrongSignatures delays the answers to wrong signatures while many come. A client that waits for
// its answer posts less often, which leaves more of the processor to sending. The zero value is
// ready.
type wrongSignatures struct {
	second  atomic.Int64 // Unix seconds
	came    atomic.Int64 // wrong signatures in second
	waiting atomic.Int64
}

// The first wrongAtOnce wrong signatures of a second are answered at once, such as the posts of a
// service whose secret was just rotated. Up to wrongWaiting answers wait at a time, of about 20 KiB
// each.
const (
	wrongAtOnce  = 100
	wrongWaiting = 1024
	wrongDelay   = 250 * time.Millisecond
)

// wait returns when a wrong signature that came at now may be answered.
func (s *wrongSignatures) wait(ctx context.Context, now time.Time) {
	if second := now.Unix(); s.second.Swap(second) != second {
		s.came.Store(0)
	}
	if s.came.Add(1) <= wrongAtOnce {
		return
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > wrongWaiting {
		return
	}
	select {
	case <-time.After(wrongDelay):
	case <-ctx.Done():
	}
}
