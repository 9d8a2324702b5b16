package sender

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// groupingLedger commits the calls of 10 ms in one transaction, as PostgreSQL's backend does.
type groupingLedger struct {
	*endlessLedger
	mu     sync.Mutex
	opened time.Time
	groups int
}

func (l *groupingLedger) Intend(ctx context.Context, in []campaign.Intent) ([]campaign.Granted, error) {
	l.mu.Lock()
	if time.Since(l.opened) >= 10*time.Millisecond {
		l.opened, l.groups = time.Now(), l.groups+1
	}
	l.mu.Unlock()
	return l.endlessLedger.Intend(ctx, in)
}

func (l *groupingLedger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.groups
}

// The numbers of a process commit their intents at the same time, so that a ledger that groups
// calls needs few transactions. Each number alone asks some 17 times a second at this pace.
func TestNumbersCommitTheirIntentsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pace, numbers = 85.5, 4
		l := &groupingLedger{endlessLedger: newEndlessLedger()}
		e, err := New(l, l, throttle.NewLocal(), Options{Owner: "a", Pace: func(string) float64 { return pace }})
		if err != nil {
			t.Fatal(err)
		}
		r := template(t, 1, "sale", 0)
		r.connections = nil
		for i := range numbers {
			r.connections = append(r.connections, fmt.Sprintf("conn_%d", i+1))
		}
		ctx, stop := context.WithCancel(t.Context())
		var working, recording sync.WaitGroup
		recording.Go(e.rec.run)
		for _, c := range r.connections {
			w := newWorker(e, c)
			e.mu.Lock()
			e.workers[c] = w
			e.mu.Unlock()
			w.planner.setRuns([]*run{r})
			working.Go(func() { w.run(ctx) })
			time.Sleep(13 * time.Millisecond) // nothing but the invitation brings them together
		}
		time.Sleep(time.Second)
		const watched = 20 * time.Second
		from, groups := time.Now(), l.count()
		time.Sleep(watched)
		if sent := l.within("sale", from, time.Now()); sent < 0.99*numbers*pace {
			t.Errorf("got %.1f messages a second, want %.1f", sent, numbers*pace)
		}
		each := float64(l.count()-groups) / watched.Seconds()
		t.Logf("%.1f transactions a second", each)
		if each > 25 {
			t.Errorf("got %.1f transactions a second, want at most 25", each)
		}
		stop()
		working.Wait()
		e.rec.stop()
		recording.Wait()
	})
}
