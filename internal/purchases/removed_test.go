package purchases_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/internal/purchases"
)

// change puts a server between the keeper and the shop that changes what the shop shows of some
// orders: nil removes the order, and members replace its own.
type change struct {
	mu     sync.Mutex
	orders map[string]map[string]any
	broken bool // the route of one order answers 404 for every order
}

func (c *change) set(order string, members map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.orders[order] = members
}

// of returns the order as the keeper sees it; false: it is removed.
func (c *change) of(order map[string]any) bool {
	members, changed := c.orders[fmt.Sprint(order["id"])]
	for name, value := range members {
		order[name] = value
	}
	return !changed || members != nil
}

// between starts the server.
func between(w *world) *change {
	c := &change{orders: map[string]map[string]any{}}
	shop := w.shop.Config.Handler
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		shop.ServeHTTP(recorder, r)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.broken && strings.HasPrefix(r.URL.Path, "/2023-11/customers/orders/") {
			http.NotFound(rw, r)
			return
		}
		var answer map[string]any
		d := json.NewDecoder(bytes.NewReader(recorder.Body.Bytes()))
		d.UseNumber()
		if !strings.Contains(r.URL.Path, "/orders") || d.Decode(&answer) != nil {
			rw.WriteHeader(recorder.Code)
			_, _ = rw.Write(recorder.Body.Bytes())
			return
		}
		switch data := answer["data"].(type) {
		case map[string]any:
			if !c.of(data) {
				http.NotFound(rw, r)
				return
			}
		case []any:
			left := []any{}
			for _, one := range data {
				if c.of(one.(map[string]any)) {
					left = append(left, one)
				}
			}
			answer["data"] = left
		}
		rw.WriteHeader(recorder.Code)
		_ = json.NewEncoder(rw).Encode(answer)
	}))
	w.Cleanup(server.Close)
	w.shop = server
	return c
}

// No event and no list names an order that the platform removed. It is asked for again from time to
// time, and is reversed once the platform says that it has no such order, unless it says so of
// every order.
func TestARemovedOrderCountsNoLonger(t *testing.T) {
	const (
		both  = `{"orders":2,"people":2,"reversed":0,"revenue":[{"currency":"EUR","amount":30}]}`
		fewer = `{"orders":1,"people":1,"reversed":1,"revenue":[{"currency":"EUR","amount":10}]}`
	)
	w := newWorld(t)
	c := between(w)
	r := w.run("spring", time.Now().Add(-time.Minute), 0, ama, kwame)
	w.bought(ama, "EUR", 10)
	removed := w.bought(kwame, "EUR", 20)
	w.keep(t.Context())
	w.brought(r, both)
	c.set(removed, nil)
	again := func() {
		t.Helper()
		w.keeper = purchases.New(purchases.Options{Ledger: w.ledger, Client: w.client, Poll: time.Nanosecond})
		now := time.Now()
		if err := w.ledger.AskAgain(t.Context(), now.Add(-time.Hour), now.Add(time.Second), now, 9); err != nil {
			t.Fatal(err)
		}
		w.keep(t.Context())
	}
	w.keep(t.Context())
	w.brought(r, both) // each was asked for a moment ago
	c.broken = true    // a wrong company or path looks like this
	again()
	w.brought(r, both)
	c.broken = false
	again()
	w.brought(r, fewer)
	c.orders = map[string]map[string]any{} // the platform has it again
	again()
	w.hint(removed)
	w.keep(t.Context())
	w.brought(r, both)
}

// An order in another form than the document's stops no other one. It is counted and named.
func TestAnOddOrderStopsNoOther(t *testing.T) {
	for name, odd := range map[string]map[string]any{
		"a time without a zone": {"updated_at": "2026-11-28 09:00:00"},
		"deleted_at is false":   {"deleted_at": false},
		"no id":                 {"id": nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := between(w)
			r := w.run("spring", time.Now().Add(-time.Minute), 0, ama, kwame)
			w.bought(ama, "EUR", 10)
			order := w.bought(kwame, "EUR", 20)
			c.set(order, odd)
			w.hint(order)
			w.keep(t.Context())
			unread, left := `,"unread":1,"unread_id":"`+order+`"`, ""
			if name == "no id" { // the list does not say which order it is, the hint does
				unread, left = strings.Replace(unread, "1", "2", 1), `,"unread":1`
			}
			w.brought(r, `{"orders":1,"people":1,"reversed":0,"revenue":[{"currency":"EUR","amount":10}]`+unread+`}`)
			delete(c.orders, order)
			w.keep(t.Context())
			w.brought(r, `{"orders":2,"people":2,"reversed":0,"revenue":[{"currency":"EUR","amount":30}]`+left+`}`)
			if n, _, err := w.ledger.HintBacklog(t.Context()); n != 0 || err != nil {
				t.Errorf("backlog %d, %v; want none", n, err)
			}
		})
	}
}

// The platform writes the address of an order without one as [].
func TestAnOrderWithoutAnAddressCounts(t *testing.T) {
	w := newWorld(t)
	c := between(w)
	r := w.run("spring", time.Now().Add(-time.Minute), 0, ama)
	order := w.bought(ama, "EUR", 10)
	c.set(order, map[string]any{"billing": map[string]any{"address": []any{}}})
	w.keep(t.Context())
	w.brought(r, `{"orders":1,"people":1,"reversed":0,"revenue":[{"currency":"EUR","amount":10}]}`)
}
