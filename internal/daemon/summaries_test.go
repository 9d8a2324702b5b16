package daemon

import (
	"cmp"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
)

// listed is a ledger with a list of ten parts whose numbers are not kept yet, and with news all the
// time.
type listed struct {
	leased
	counts []time.Time
	parts  int           // that are kept
	ended  bool          // each run has ended
	each   time.Duration // counting a segment takes; 0: 5 ms
}

func (l *listed) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) {
	if l.ended {
		return nil, nil
	}
	return []campaign.Run{{No: 1, State: campaign.Running}}, nil
}

func (l *listed) FoldSummaries(_ context.Context, _ time.Duration, most int) (int, error) {
	l.counts = append(l.counts, time.Now())
	time.Sleep(time.Duration(most) * cmp.Or(l.each, 5*time.Millisecond))
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

func TestCountingTakesAPartOfACore(t *testing.T) {
	for _, c := range []struct {
		ended    bool
		each     time.Duration
		min, max int // segments counted in a minute
	}{{false, 5 * time.Millisecond, 550, 600}, {false, 60 * time.Millisecond, 220, 250}, {true, 5 * time.Millisecond, 5800, 6000}} {
		synctest.Test(t, func(t *testing.T) {
			l := &listed{ended: c.ended, each: c.each, parts: 10}
			d := &Daemon{ledger: l, cfg: config.Default()}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			d.summarize(ctx)
			if n := summaryStep * len(l.counts); n < c.min || n > c.max {
				t.Errorf("each run has ended: %t, %s a segment: %d counted in a minute, want %d to %d", c.ended, c.each, n, c.min, c.max)
			}
		})
	}
}
