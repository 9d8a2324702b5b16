package sender

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// reply is a service that gives one answer to each message.
type reply struct {
	receipt messaging.Receipt
	err     error
	sent    int
}

func (a *reply) Send(context.Context, *messaging.Message) (messaging.Receipt, error) {
	a.sent++
	return a.receipt, a.err
}

// An answer that proves nothing is doubt, whatever its error is; a row that cannot be rendered is
// refused unsent.
func TestAnUnprovenAnswerIsDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name, cell string
			answer     reply
			want       campaign.ResultKind
			code       string
			sent       int
		}{
			{"accepted", "Ada", reply{receipt: messaging.Receipt{MessageID: "m1", Warning: "w", RequestID: "r"}}, campaign.ResultAccepted, "", 1},
			{"refused", "Ada", reply{err: fmt.Errorf("send: %w", &messaging.Error{Proof: messaging.NotSent, Action: messaging.Refuse,
				Code: "131026"})}, campaign.ResultRefused, "131026", 1},
			{"another error", "Ada", reply{err: errGone}, campaign.ResultDoubt, "error", 1},
			{"a value that cannot be", "", reply{}, campaign.ResultRefused, "not_rendered", 0},
		} {
			e, err := New(&pauseLedger{}, &tt.answer, throttle.NewLocal(), Options{Owner: "a"})
			if err != nil {
				t.Fatal(err)
			}
			r, err := compile(campaign.Run{No: 1, Campaign: "sale", Header: []string{"to", "name"},
				Definition: []byte(strings.Replace(sale, "en_US}", "en_US, body: [\"{{ .name }}\"]}", 1))})
			if err != nil {
				t.Fatal(err)
			}
			s := &attempt{segment: newSegment(r, campaign.Lease{}, nil), nth: 3, delivery: campaign.Delivery{Run: 1, Seq: 7,
				To: "+2348031234501", Cells: []string{"+2348031234501", tt.cell}}}
			newWorker(e, "conn_1").poster.send(t.Context(), s, ticket{})
			got := (<-e.rec.in).result
			if got.Kind != tt.want || got.Code != tt.code || tt.answer.sent != tt.sent || !got.At.Equal(time.Now()) {
				t.Errorf("%s: kind %v, code %q after %d posts at %v, want %v, %q after %d now", tt.name, got.Kind, got.Code, tt.answer.sent, got.At,
					tt.want, tt.code, tt.sent)
			}
			if got.Run != 1 || got.Seq != 7 || got.Attempt != 3 || got.Connection != "conn_1" {
				t.Errorf("%s: result %+v, want that of attempt 3 of row 7 of run 1 by conn_1", tt.name, got)
			}
			if want := tt.answer.receipt; got.MessageID != want.MessageID || got.Warning != want.Warning || got.RequestID != want.RequestID {
				t.Errorf("%s: result %+v, want it of %+v", tt.name, got, want)
			}
		}
	})
}

// denying is a limiter that fails.
type denying struct{ err error }

func (l denying) Lease(context.Context, string, float64, int) (throttle.Slots, error) {
	return throttle.Slots{}, l.err
}

func (denying) Observe(string, int64, bool) {}

func (l denying) Allow(context.Context, string, float64, int) (int, time.Duration, error) {
	return 0, 0, l.err
}

// A limiter that is away tells its own outage; any other error of it is logged, once while it
// lasts.
func TestAnUnknownFaultOfTheLimiterIsLoggedOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"away", fmt.Errorf("%w: redis: no answer", throttle.ErrUnavailable), 0},
		{"unknown", errors.New("a script that does not compile"), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			e, err := New(nil, nil, denying{tt.err}, Options{Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorker(e, "conn_1")
			w.queue.push(blank(1))
			ctx, stop := context.WithTimeout(t.Context(), 350*time.Millisecond)
			defer stop()
			w.poster.run(ctx)
			const line = `level=ERROR msg="the limiter refuses to grant slots: nothing is sent until it does" connection=conn_1 err="a script`
			if got := strings.Count(log.String(), line); got != tt.want || w.number.counts.noSlot.Load() != 4 {
				t.Errorf("%s: got %d lines of %d refusals, want %d of 4:\n%s", tt.name, got, w.number.counts.noSlot.Load(), tt.want, log.String())
			}
		})
	}
}
