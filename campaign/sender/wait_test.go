package sender

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// fullLedger grants the first deliveries of each intent, until the places that are free are taken.
type fullLedger struct {
	groupLedger
	free  int64
	until time.Time
}

func (l *fullLedger) Intend(_ context.Context, in []campaign.Intent) (granted []campaign.Granted, _ error) {
	l.intents = append(l.intents, in...)
	for _, i := range in {
		n := min(i.To-i.From, l.free)
		g := campaign.Granted{To: i.From + n, Denied: n == 0}
		if l.free -= n; g.To < i.To {
			g.Limit = campaign.Limit{By: campaign.ByTier, Until: l.until, Detail: "the tier is full"}
		}
		granted = append(granted, g)
	}
	return granted, nil
}

func TestALaneWaitsForItsLimitAndAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &fullLedger{free: 6, until: time.Now().Add(time.Hour)}
		w, _ := planning(t, &l.groupLedger, Options{})
		p := w.planner
		p.e.ledger = l
		granted := 0
		steps := func(d time.Duration) int {
			before := len(l.intents)
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
				if _, err := p.step(t.Context()); err != nil {
					t.Fatalf("a step of the planner: %v; want no error", err)
				}
				granted += len(w.queue.remove(func(*attempt) bool { return true }))
			}
			return len(l.intents) - before
		}
		if n := steps(waitAgain - time.Second); n != 1 || granted != 6 {
			t.Errorf("%d intents and %d attempts; want 1, which the limit ends, and 6", n, granted)
		}
		if by := p.lanes.of(p.activeRuns()[0]).limited; by.By != campaign.ByTier || by.Detail != "the tier is full" {
			t.Errorf("the lane is limited by %+v, want the tier", by)
		}
		if n := steps(2 * waitAgain); n != 2 {
			t.Errorf("%d intents in %s, want 2: one each %s", n, 2*waitAgain, waitAgain)
		}
		l.free, l.until = 10_000, time.Time{}
		if steps(waitAgain); granted == 6 {
			t.Error("nothing more was granted after places came free, want more")
		}
		if by := p.lanes.of(p.activeRuns()[0]).limited; by.By != "" {
			t.Errorf("the lane is limited by %+v, want nothing", by)
		}
	})
}
