package sender_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/campaign/sender"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/messaging"
	"campaignd/internal/webhooks"
	"campaignd/throttle"
)

// downtime is a ledger with one run of two rows, whose second answer is lost.
type downtime struct {
	*testing.T
	ledger campaign.Ledger
	run    campaign.RunNo
	intake *webhooks.Intake // of the process that lives
}

func newDowntime(t *testing.T) *downtime {
	l, run := twoRows(t)
	return &downtime{T: t, ledger: l, run: run}
}

// twoRows is a ledger with a run of two recipients.
func twoRows(t *testing.T) (campaign.Ledger, campaign.RunNo) {
	l := sqlitetest.Open(t, ledger.Options{Sender: true})
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
	return l, run.No
}

// live runs a process that sends, and takes webhooks if it listens, for d. With a hook it calls
// that after half of the time.
func (w *downtime) live(d time.Duration, listens bool, hook func()) {
	w.Helper()
	verifier, err := messaging.NewVerifier(messaging.SignatureForm{}, messaging.NewSecret(simSecret))
	if err != nil {
		w.Fatal(err)
	}
	if w.intake, err = webhooks.New(w.ledger, verifier, webhooks.Options{Sweep: time.Minute}); err != nil {
		w.Fatal(err)
	}
	e, err := sender.New(w.ledger, lostAnswer{"+2348031234568"}, throttle.NewLocal(), sender.Options{Owner: "me", Tick: 5 * time.Second})
	if err != nil {
		w.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = e.Run(ctx) })
	if listens {
		running.Go(func() { _ = w.intake.Run(ctx) })
	}
	time.Sleep(d / 2)
	if hook != nil {
		hook()
	}
	time.Sleep(d - d/2)
	stop()
	running.Wait()
}

// elsewhere lets d pass, in which another process takes webhooks.
func (w *downtime) elsewhere(d time.Duration) {
	w.Helper()
	s := reception.Span{Since: time.Now()}
	time.Sleep(d)
	s.Until = time.Now()
	if err := w.ledger.Listen(w.Context(), s); err != nil {
		w.Fatal(err)
	}
}

// is fails unless n rows of the run have a status.
func (w *downtime) is(s campaign.Status, n int64) {
	w.Helper()
	tallies, _, err := w.ledger.Tallies(w.Context(), w.run)
	if err != nil {
		w.Fatal(err)
	}
	var got int64
	for _, t := range tallies {
		if t.Status == s {
			got += t.N
		}
	}
	if got != n {
		w.Errorf("%d rows are %s, want %d; all: %+v", got, s, n, tallies)
	}
}

// proof is the webhook about the message whose answer was lost.
func (w *downtime) proof(at time.Time) {
	w.Helper()
	body := `{"id":"e1","type":"message.status","connectionId":"conn_1","data":{"messageId":"wamid.lost","status":"sent","timestamp":"` +
		at.UTC().Format(time.RFC3339) + `","to":"+2348031234568"}}`
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	if err := (messaging.SignatureForm{}).Sign(r.Header, messaging.NewSecret(simSecret), []byte(body), time.Now()); err != nil {
		w.Fatal(err)
	}
	answer := httptest.NewRecorder()
	w.intake.ServeHTTP(answer, r)
	if answer.Code != http.StatusNoContent {
		w.Errorf("the webhook was answered %d, want 204", answer.Code)
	}
}

// 40 minutes without any process leave a doubt in doubt until the service has repeated its webhook,
// two hours after the try before.
func TestDoubtsOutliveADowntime(t *testing.T) {
	for _, proven := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newDowntime(t)
			sent := time.Now()
			w.live(20*time.Second, true, nil)
			w.is(campaign.InDoubt, 1)
			time.Sleep(40 * time.Minute)
			w.live(2*time.Minute, true, nil)
			w.elsewhere(115 * time.Minute)
			w.live(2*time.Minute, true, nil)
			w.is(campaign.InDoubt, 1)
			w.live(3*time.Minute, true, func() {
				if proven {
					w.proof(sent)
				}
			})
			if proven {
				w.is(campaign.Sent, 1)
			} else {
				w.is(campaign.Unknown, 1)
			}
		})
	}
}

// Without a downtime the window is 40 minutes, and a process that never takes webhooks waits until
// the service has given up.
func TestTheDoubtWindowIsWhatItSays(t *testing.T) {
	for listens, window := range map[bool]time.Duration{true: 40 * time.Minute, false: 40*time.Minute + 516*time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := newDowntime(t)
			w.live(time.Minute, listens, nil)
			if listens {
				w.elsewhere(window - 3*time.Minute)
			} else {
				time.Sleep(window - 3*time.Minute)
			}
			w.live(time.Minute, listens, nil)
			w.is(campaign.InDoubt, 1)
			w.live(4*time.Minute, listens, nil)
			w.is(campaign.Unknown, 1)
		})
	}
}
