package shop

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/sandbox/shop/scenario"
)

// posting is a webhook request as its receiver sees it.
type posting struct {
	at        time.Time
	url       string
	signature string
	body      []byte
}

// receiver is the transport of the platform's webhooks: it keeps each posting and answers with the
// status that it is told.
type receiver struct {
	got    []posting
	status func(n int) int
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.got = append(r.got, posting{time.Now(), req.URL.String(), req.Header.Get("X-Commerce-Signature"), body})
	return &http.Response{StatusCode: r.status(len(r.got)), Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
}

// eventsOf runs the unit shop with a webhook in a bubble, does something, and lets an hour pass.
func eventsOf(t *testing.T, w scenario.Webhook, status func(n int) int, do func(p *Platform)) []posting {
	t.Helper()
	r := &receiver{status: status}
	synctest.Test(t, func(t *testing.T) {
		p := lastUnit(t)
		p.opt.Transport, p.opt.RetrySchedule = r, []time.Duration{time.Minute, 10 * time.Minute}
		p.company[unitCompany].hooks = []*hook{newHook(w)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		do(p)
		if err := <-done; err != context.DeadlineExceeded {
			t.Errorf("Run: got %v, want %v", err, context.DeadlineExceeded)
		}
	})
	return r.got
}

// Each change of an order, a payment or stock is an event with a signature of its bytes, in order
// (docs/commerce.md#events).
func TestEventsAreSignedAndInOrder(t *testing.T) {
	const secret = "hook-secret"
	got := eventsOf(t, scenario.Webhook{URL: "https://hooks.example/c", Secret: secret}, func(int) int { return 204 }, func(p *Platform) {
		id := orderID(t, p, unitOrder)
		ask(p, "POST", "/sandbox/commerce/pay", `{"order":"`+id+`"}`)
		ask(p, "POST", "/sandbox/commerce/orders/"+id+"/status", `{"status":"shipped"}`)
		ask(p, "POST", "/sandbox/commerce/stock", `{"variant":"`+unitVariant+`","warehouse":"`+unitHall+`","quantity":7}`)
	})
	want := []string{"order.created", "stock.updated", "payment.received", "order.updated", "order.updated", "stock.updated"}
	if len(got) != len(want) {
		t.Fatalf("got %d postings, want %d", len(got), len(want))
	}
	ids := map[string]bool{}
	for i, post := range got {
		var e struct {
			ID, Type  string
			CreatedAt time.Time `json:"created_at"`
			CompanyID string    `json:"company_id"`
			Data      struct{ ID string }
		}
		must(t, json.Unmarshal(post.body, &e))
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(post.body)
		if sum := hex.EncodeToString(mac.Sum(nil)); post.signature != sum {
			t.Errorf("%s: got the signature %q, want %q", e.Type, post.signature, sum)
		}
		if e.Type != want[i] || e.CompanyID != unitCompany || e.Data.ID == "" || e.CreatedAt.IsZero() || ids[e.ID] {
			t.Errorf("event %d: got %s, want %s with its company, record, time and an id of its own", i, post.body, want[i])
		}
		ids[e.ID] = true
	}
}

// An event that is not answered 2xx comes again after the waits of the schedule, with the same
// bytes, and then no more. It delays no other event.
func TestARepeatedEventHasTheSameBytes(t *testing.T) {
	began := time.Time{}
	got := eventsOf(t, scenario.Webhook{URL: "https://hooks.example/c", Secret: "s", Events: []string{"order.created"}},
		func(int) int { return 503 }, func(p *Platform) {
			began = time.Now()
			orderID(t, p, unitOrder)
		})
	if len(got) != 3 {
		t.Fatalf("got %d postings, want 3", len(got))
	}
	for i, wait := range []time.Duration{0, time.Minute, 11 * time.Minute} {
		if at := got[i].at.Sub(began); at != wait || !bytes.Equal(got[i].body, got[0].body) {
			t.Errorf("posting %d: got it after %s with %q, want after %s with %q", i, at, got[i].body, wait, got[0].body)
		}
	}
}

// The truth says which events were answered 2xx, and names no person.
func TestTheTruthNamesNoPersonAndNoSecret(t *testing.T) {
	eventsOf(t, scenario.Webhook{URL: "https://hooks.example/c", Secret: "hook-secret"}, func(n int) int { return 500 - 300*(n%2) },
		func(p *Platform) {
			ask(p, "POST", "/sandbox/commerce/pay", `{"order":"`+orderID(t, p, unitOrder)+`"}`)
			synctest.Wait()
			truth, err := json.Marshal(p.ordersSoFar())
			must(t, err)
			for _, secret := range []string{"hook-secret", "+237650000001"} {
				if bytes.Contains(truth, []byte(secret)) {
					t.Errorf("the truth %s has %q, want no such text", truth, secret)
				}
			}
			facts := p.ordersSoFar()
			if len(facts.Orders) != 1 || len(facts.Payments) != 1 || facts.Orders[0].Billing != paidState || !facts.Orders[0].Due.IsZero() {
				t.Errorf("got %s, want one paid order with its payment", truth)
			}
			if e := facts.Events; len(e) != 4 || e[0].Deliveries[0].Acked == nil || e[1].Deliveries[0].Acked != nil {
				t.Errorf("got the events %+v, want 4, of which the first was answered 2xx and the second not yet", e)
			}
		})
}
