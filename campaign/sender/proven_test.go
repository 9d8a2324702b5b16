package sender_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
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
		l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "campaignd.db"), ledger.Options{Sender: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		run, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "sale", ListHash: "5f70", Header: []string{"to"}, Wanted: campaign.WantRun,
			Definition: []byte("name: sale\nconnections: [conn_1]\ntemplate: {name: sale, language: en_US}\nrecipients: {file: list.csv}\n")})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.AppendRows(t.Context(), run.No, 0, []campaign.Delivery{
			{Run: run.No, Row: 1, To: "+2348031234567", Key: 2348031234567, Cells: []string{"+2348031234567"}},
			{Run: run.No, Seq: 1, Row: 2, To: "+2348031234568", Key: 2348031234568, Cells: []string{"+2348031234568"}},
		}, []campaign.Segment{{Run: run.No, Hi: 2}}); err != nil {
			t.Fatal(err)
		}
		if err := l.FinishImport(t.Context(), run.No, 2, campaign.Ready); err != nil {
			t.Fatal(err)
		}
		e, err := sender.New(l, lostAnswer{"+2348031234568"}, throttle.NewLocal(),
			sender.Options{Owner: "me", Pace: func(string) float64 { return 72 }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		time.Sleep(3 * time.Second)
		if got, err := l.Run(t.Context(), run.No); err != nil || got.State != campaign.Running {
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
		for run.State != campaign.Finished && time.Since(proven) < time.Hour {
			time.Sleep(100 * time.Millisecond)
			if run, err = l.Run(t.Context(), run.No); err != nil {
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
