package sender_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// lostAnswer is a service that accepts everything; its answers to one recipient are lost.
type lostAnswer struct{ to string }

func (s lostAnswer) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
	if m.To == s.to {
		return messaging.Receipt{}, &messaging.Error{Proof: messaging.Doubt, Code: "time_out"}
	}
	return messaging.Receipt{MessageID: "wamid." + m.To}, nil
}

// The window of a doubt is 15 minutes. A run does not wait for its end once a webhook has proven
// the doubt.
func TestARunEndsSoonAfterItsLastProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, no := twoRows(t)
		e, err := sender.New(l, lostAnswer{"+2348031234568"}, throttle.NewLocal(),
			sender.Options{Owner: "me", Pace: func(string) float64 { return 72 }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(3 * time.Second)
		if got, err := l.Run(t.Context(), no); err != nil || got.State != campaign.Running {
			t.Errorf("with a doubt: %s, %v; want running", got.State, err)
		}
		if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: "wamid.lost", Connection: "conn_1",
			Recipient: 2348031234568, Status: campaign.Sent, At: time.Now(), ReceivedAt: time.Now()}}}); err != nil {
			t.Fatal(err)
		}
		if s, err := l.Sweep(t.Context(), time.Now()); err != nil || s.Adopted != 1 {
			t.Errorf("swept %+v, %v; want Adopted 1", s, err)
		}
		proven := time.Now()
		run := campaign.Run{}
		for run.State != campaign.Finished && time.Since(proven) < time.Hour {
			time.Sleep(100 * time.Millisecond)
			if run, err = l.Run(t.Context(), no); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(proven); took > 6*time.Second {
			t.Errorf("the run ended %v after its last doubt was proven, want at most 6s", took)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the engine ended with %v, want nil", err)
		}
	})
}
