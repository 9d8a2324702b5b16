package commerce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/internal/secret"
)

// forget keeps no hint.
func forget(context.Context, []Hint) error { return nil }

func TestAnEventNamesItsOrder(t *testing.T) {
	changed := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		kind, data string
		want       Hint
		ok         bool
	}{
		{"order.created", `{"id":"01J","updated_at":"2026-03-01T10:00:00Z"}`, Hint{"01J", changed}, true},
		{"order.updated", `{"id":"01J"}`, Hint{Order: "01J"}, true},
		{"payment.received", `{"id":"p","updated_at":"2027-01-01T00:00:00Z","metadata":{"order_id":"01J"}}`, Hint{"01J", changed}, true},
		{"payment.received", `{"id":"p","metadata":[]}`, Hint{}, false},
		{"stock.updated", `{"id":"v"}`, Hint{}, false},
		{"orders.exported", `{"id":"x","metadata":{}}`, Hint{}, false},
		{"order.created", `{"id":"../admin"}`, Hint{}, false},
		{"order.created", `{"id":7}`, Hint{}, false},
		{"order.created", `[]`, Hint{}, false},
	} {
		e := Event{Type: tt.kind, Data: json.RawMessage(tt.data), CreatedAt: Time{changed}}
		if got, ok := e.Hint(); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s %s: %+v, %v; want %+v, %v", tt.kind, tt.data, got, ok, tt.want, tt.ok)
		}
	}
}

// The store of hints is slow, and fails at first. Each request is answered 204 only if its own hint
// was stored, and requests that wait are stored together.
func TestAnEventIsAnsweredOnceItIsStored(t *testing.T) {
	var mu sync.Mutex
	stored, stores := map[string]bool{}, 0
	intake := NewIntake(Assumed{}, acme, []secret.Value{signing}, slog.New(slog.DiscardHandler),
		func(_ context.Context, hints []Hint) error {
			time.Sleep(5 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if stores++; stores == 1 {
				return errors.New("the disk is full")
			}
			for _, h := range hints {
				stored[h.Order] = true
			}
			return nil
		})
	var all sync.WaitGroup
	refused := 0
	for i := range 200 {
		all.Go(func() {
			order := fmt.Sprint("o", i)
			body := strings.Replace(anEvent, `"id":"o"`, `"id":"`+order+`"`, 1)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("X-Commerce-Signature", signatureOf(signing, body))
			w := httptest.NewRecorder()
			intake.ServeHTTP(w, r)
			mu.Lock()
			defer mu.Unlock()
			if refused += w.Code / 503; (w.Code == 204) != stored[order] || w.Code != 204 && w.Code != 503 {
				t.Errorf("%s: got %d, stored %v; want 204 if it is stored, else 503", order, w.Code, stored[order])
			}
		})
	}
	all.Wait()
	counts := intake.Counts()
	if stores > 50 || refused == 0 || counts["unstored"] != int64(refused) || counts["taken"] != int64(200-refused) {
		t.Errorf("200 events in %d stores, %d refused, counts %v; want few stores, and both counted", stores, refused, counts)
	}
}

func TestAnEventThatNamesNoOrderIsNotStored(t *testing.T) {
	intake := NewIntake(Assumed{}, acme, []secret.Value{signing}, slog.New(slog.DiscardHandler), func(context.Context, []Hint) error {
		t.Error("stored; want nothing stored")
		return nil
	})
	stock := strings.Replace(anEvent, "order.created", "stock.updated", 1)
	for _, tt := range []struct {
		body, signature string
		want            int
	}{
		{stock, signatureOf(signing, stock), 204},
		{anEvent, signatureOf(secret.New("a forger's secret"), anEvent), 401},
		{strings.Replace(anEvent, acme, "01J0000000000000000000OTHER", 1), "", 401},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(tt.body))
		r.Header.Set("X-Commerce-Signature", tt.signature)
		w := httptest.NewRecorder()
		if intake.ServeHTTP(w, r); w.Code != tt.want {
			t.Errorf("%s: got %d; want %d", tt.body, w.Code, tt.want)
		}
	}
}
