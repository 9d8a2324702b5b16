package sender

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// lateService is a service to which the first requests of each delivery leave too late, and the
// wire log beside it.
type lateService struct {
	*endlessLedger
	late  int  // how many requests of each delivery are late
	keeps bool // the wire log removes no note

	mu       sync.Mutex
	tries    map[string]int // requests by delivery
	accepted map[string]int
	deferred int // results that say that a request was not posted
	notes    map[int]string
	noted    int
}

func (l *lateService) Note(p campaign.Post, _ int64) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noted++
	l.notes[l.noted] = fmt.Sprint(p.Seq)
	return l.noted, nil
}

func (l *lateService) Unposted(entry int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keeps {
		return false
	}
	delete(l.notes, entry)
	return true
}

func (l *lateService) Recorded(entry int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.notes, entry)
}

func (l *lateService) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
	notSent := &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater, Code: "not_sent"}
	if notSent.Err = m.Before(); notSent.Err != nil {
		return messaging.Receipt{}, notSent
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tries[m.Mark]++; l.tries[m.Mark] <= l.late {
		notSent.Err = messaging.ErrLate
		return messaging.Receipt{}, notSent
	}
	l.accepted[m.Mark]++
	return messaging.Receipt{MessageID: "wamid"}, nil
}

func (l *lateService) Record(_ context.Context, all []campaign.Result) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range all {
		if r.Kind == campaign.ResultDeferred {
			l.deferred++
		}
	}
	return nil
}

// An attempt that is too late for its slot takes a later one with the same intent: the ledger hears
// nothing of it. It is queued again in the ledger if it goes on being late, or if its note cannot
// be removed from the wire log.
func TestALateAttemptTakesALaterSlot(t *testing.T) {
	for _, c := range []struct {
		late     int
		keeps    bool
		deferred bool
	}{{late: 1}, {late: mostLate}, {late: mostLate + 1, deferred: true}, {late: 1, keeps: true, deferred: true}} {
		t.Run(fmt.Sprintf("%d times, note stays %t", c.late, c.keeps), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lateService{endlessLedger: newEndlessLedger(), late: c.late, keeps: c.keeps,
					tries: map[string]int{}, accepted: map[string]int{}, notes: map[int]string{}}
				e, err := New(l, l, throttle.NewLocal(), Options{Owner: "a", Pace: func(string) float64 { return 20 }, Wire: l,
					Mark: func(p campaign.Post) string { return fmt.Sprint(p.Seq) }})
				if err != nil {
					t.Fatal(err)
				}
				w := newWorker(e, "conn_1")
				w.planner.setRuns([]*run{template(t, 1, "late", 0)})
				ctx, stop := context.WithCancel(t.Context())
				recorded, worked := make(chan struct{}), make(chan struct{})
				go func() { e.rec.run(); close(recorded) }()
				go func() { w.run(ctx); close(worked) }()
				time.Sleep(30 * time.Second)
				stop()
				<-worked
				e.rec.stop()
				<-recorded
				if got := l.deferred > 0; got != c.deferred {
					t.Errorf("%d attempts were queued again in the ledger, want some: %t", l.deferred, c.deferred)
				}
				for seq, n := range l.accepted {
					if n != 1 || l.tries[seq] != c.late+1 {
						t.Fatalf("delivery %s: %d requests, %d accepted; want %d and 1", seq, l.tries[seq], n, c.late+1)
					}
				}
				if least := 400 / (c.late + 1); !c.deferred && len(l.accepted) < least {
					t.Errorf("%d messages were accepted in 30 s, want %d or more", len(l.accepted), least)
				}
				if len(l.notes) > 0 && !c.keeps {
					t.Errorf("the wire log keeps the notes %v, want none", l.notes)
				}
			})
		})
	}
}
