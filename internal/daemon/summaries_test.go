package daemon

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/config"
)

// listed is a ledger with a list of ten parts whose numbers are not kept yet, and with news all the
// time.
type listed struct {
	leased
	counts []time.Time
	parts  int // that are kept
}

func (l *listed) FoldSummaries(_ context.Context, _ time.Duration, most int) (int, error) {
	l.counts = append(l.counts, time.Now())
	time.Sleep(time.Duration(most) * 5 * time.Millisecond)
	return most, nil
}

func (l *listed) AttributeResponses(context.Context, int) (judged, left int, err error) {
	return 0, 0, nil
}

func (l *listed) KeepNumbers(context.Context) (bool, error) {
	if l.parts == 10 {
		return false, nil
	}
	l.parts++
	time.Sleep(time.Second)
	return true, nil
}

func TestCountingGoesOnWhileNumbersAreSorted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &listed{}
		cfg := config.Default()
		d := &Daemon{ledger: l, cfg: cfg}
		ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
		defer stop()
		d.summarize(ctx)
		var longest time.Duration
		for i, at := range l.counts[1:] {
			longest = max(longest, at.Sub(l.counts[i]))
		}
		if longest > 2*time.Second || l.parts != 10 {
			t.Errorf("counted at intervals of up to %s, %d parts of a list sorted in 4 minutes; want at most 2 s, and 10", longest, l.parts)
		}
	})
}
