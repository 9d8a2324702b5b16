package sender

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// slowDial is a service to which each request makes a connection of its own, which takes 3 s.
type slowDial struct {
	*endlessLedger
	withdrawn atomic.Int64
	returned  atomic.Int64 // recorded as not posted
}

func (l *slowDial) Send(ctx context.Context, m *messaging.Message) (messaging.Receipt, error) {
	time.Sleep(3 * time.Second)
	if err := m.Before(); err != nil {
		l.withdrawn.Add(1)
		return messaging.Receipt{}, &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater, Code: "not_sent", Err: err}
	}
	return l.endlessLedger.Send(ctx, m)
}

func (l *slowDial) Record(_ context.Context, all []campaign.Result) error {
	for _, r := range all {
		if r.Kind == campaign.ResultDeferred && r.Code == "held" {
			l.returned.Add(1)
		}
	}
	return nil
}

// A request whose connection is made only when the window has closed does not leave. Its delivery
// is queued again, and the number is not taken for unreachable.
func TestASlowDialPostsNothingAfterTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		window, err := plan.ParseWindow(file.Window{Hours: "00:00-00:01"})
		if err != nil {
			t.Fatal(err)
		}
		l := &slowDial{endlessLedger: newEndlessLedger()}
		e, err := New(l, l, throttle.NewLocal(), Options{Owner: "a", Pace: func(string) float64 { return 20 }})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now() // midnight in UTC
		r := template(t, 1, "late", 0)
		r.window, r.zone = window, time.UTC
		w := newWorker(e, "conn_1")
		w.planner.setRuns([]*run{r})
		ctx, stop := context.WithCancel(t.Context())
		recorded, worked := make(chan struct{}), make(chan struct{})
		go func() { e.rec.run(); close(recorded) }()
		go func() { w.run(ctx); close(worked) }()
		time.Sleep(80 * time.Second)
		stop()
		<-worked
		e.rec.stop()
		<-recorded
		closes := began.Add(time.Minute)
		if sent := len(l.sent["late"]); sent < 900 {
			t.Errorf("%d messages left in a minute, want about 1,100", sent)
		}
		for _, at := range l.sent["late"] { // noted 50 ms after the request left
			if left := at.Add(-50 * time.Millisecond); !left.Before(closes) {
				t.Fatalf("a message left at %s, want all before %s", left.UTC().Format(time.RFC3339Nano), closes.UTC().Format(time.RFC3339Nano))
			}
		}
		if withdrawn, returned := l.withdrawn.Load(), l.returned.Load(); withdrawn == 0 || returned < withdrawn {
			t.Errorf("%d requests withdrawn and %d deliveries queued again, want some, and all of them", withdrawn, returned)
		}
		if state, _ := e.holds.circuit("conn_1", time.Now()); state != closed {
			t.Errorf("the breaker is in state %v, want closed", state)
		}
	})
}
