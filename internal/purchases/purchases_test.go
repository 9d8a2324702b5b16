package purchases_test

import (
	"testing"
	"time"

	"campaignd/campaign/conversion"
	"campaignd/recipients"
)

const (
	ama, kwame, esi, yaw = "+237650000001", "+237650000002", "+237650000003", "+237650000004"
	abena, kofi          = "+237650000005", "+237650000006"
)

// Two runs overlap. The first told Ama and Kwame half an hour ago, the second told Ama and Esi a
// minute ago, and held out Yaw and Kofi. These are figures by hand.
func TestOverlappingRunsHaveTheFiguresByHand(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	first := w.run("first", now.Add(-30*time.Minute), 0, ama, kwame)
	second := w.run("second", now.Add(-time.Minute), 2, ama, esi, yaw, kofi)
	w.bought(ama, "EUR", 10.10)
	w.bought(kwame, "EUR", 20)
	w.bought(esi, "XAF", 5000)
	w.bought("650000003", "EUR", 1.5) // Esi, in national form, by the country of the company
	w.bought("", "EUR", 99)
	refunded := w.bought(esi, "EUR", 30)
	cancelled := w.buy(esi, "EUR", 40)
	w.buy(ama, "EUR", 50) // not paid
	w.bought(yaw, "EUR", 5)
	w.bought("+237699999999", "EUR", 7) // nobody of these runs
	w.end(refunded, "refunded")
	w.end(cancelled, "cancelled")
	w.keep(t.Context())
	w.brought(first, `{"orders":1,"people":1,"reversed":0,"revenue":[{"currency":"EUR","amount":20}]}`)
	want := `{"orders":3,"people":2,"reversed":1,"revenue":[{"currency":"EUR","amount":11.6},{"currency":"XAF","amount":5000}]}`
	w.brought(second, want)
	if _, lift := w.report(second); lift != `{"treated":2,"treated_converted":2,"held_out":2,"held_out_converted":1,"difference":0.5,`+
		`"low":-0.272573,"high":0.905469,"warning":"a group has fewer than 100 people: the difference may be chance"}` {
		t.Errorf("lift %s; want 2 of 2 against 1 of 2", lift)
	}

	erased, err := w.ledger.Erase(t.Context(), recipients.Key(ama))
	if err != nil || erased.Rows != 2 {
		t.Fatalf("erased %+v, %v; want both rows of Ama", erased, err)
	}
	w.bought(ama, "EUR", 60)
	w.keep(t.Context())
	w.brought(second, want)
}

// Events only name orders: an order counts as the platform shows it, once.
func TestAnOrderCountsOnceHoweverManyEvents(t *testing.T) {
	w := newWorld(t)
	r := w.run("spring", time.Now().Add(-time.Minute), 0, ama)
	w.keep(t.Context()) // the poll has begun: what follows is found by it and by events
	order := w.buy(ama, "EUR", 10)
	w.hint(order, order, "01J0000000000000000000NONE")
	w.keep(t.Context())
	w.brought(r, `{"orders":0,"people":0,"reversed":0,"revenue":[]}`)
	w.pay(order)
	for range 3 {
		w.hint(order, order)
		w.keep(t.Context())
	}
	w.brought(r, `{"orders":1,"people":1,"reversed":0,"revenue":[{"currency":"EUR","amount":10}]}`)
	if n, _, err := w.ledger.HintBacklog(t.Context()); n != 0 || err != nil {
		t.Errorf("backlog %d, %v; want none, also of the order that the shop does not have", n, err)
	}
}

// The shop refuses, fails and loses answers, and its rows shift while they are read.
func TestFaultsOfTheShopCostTimeAndNoOrder(t *testing.T) {
	w := newWorld(t)
	r := w.run("spring", time.Now().Add(-time.Minute), 0, ama, kwame)
	for range 120 {
		w.bought(ama, "EUR", 1)
	}
	var hinted []string
	for range 40 {
		hinted = append(hinted, w.bought(kwame, "EUR", 1))
	}
	w.hint(hinted...)
	faults := map[string]any{"too_many_requests": 0.05, "server_error": 0.05, "lost_after": 0.05, "shift": 0.5}
	w.ask("PUT", "/sandbox/commerce/faults", faults, nil)
	for more, err := true, error(nil); more || err != nil; {
		if more, err = w.keeper.Take(t.Context()); t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	w.keep(t.Context())
	w.brought(r, `{"orders":160,"people":2,"reversed":0,"revenue":[{"currency":"EUR","amount":160}]}`)
}

// The platform may store an order after a later one, so a poll goes an hour further back than the
// last change that it knows.
func TestAPollGoesBackAnHour(t *testing.T) {
	for _, tt := range []struct {
		ahead time.Duration
		want  string
	}{
		{59 * time.Minute, `{"orders":1,"people":1,"reversed":0,"revenue":[{"currency":"EUR","amount":1}]}`},
		{61 * time.Minute, `{"orders":0,"people":0,"reversed":0,"revenue":[]}`},
	} {
		w := newWorld(t)
		r := w.run("spring", time.Now().Add(-time.Minute), 0, ama)
		w.bought(ama, "EUR", 1)
		if err := w.ledger.SetPolledUntil(t.Context(), time.Now().Add(tt.ahead)); err != nil {
			t.Fatal(err)
		}
		w.keep(t.Context())
		w.brought(r, tt.want)
	}
}

// An order of the future is stored and does not count yet, and the next poll does not begin behind
// it.
func TestAnOrderOfTheFutureWaits(t *testing.T) {
	w := newWorld(t)
	r := w.run("spring", time.Now().Add(-time.Minute), 0, ama)
	later := conversion.Order{ID: "later", Key: recipients.Key(ama), Amount: "5", Currency: "EUR", WasPaid: true,
		CreatedAt: time.Now().Add(time.Hour), UpdatedAt: time.Now().Add(time.Hour)}
	if err := w.ledger.StorePurchases(t.Context(), []conversion.Order{later}); err != nil {
		t.Fatal(err)
	}
	w.bought(ama, "EUR", 1)
	w.keep(t.Context())
	w.brought(r, `{"orders":1,"people":1,"reversed":0,"revenue":[{"currency":"EUR","amount":1}]}`)
	if until, err := w.ledger.PolledUntil(t.Context()); err != nil || until.IsZero() || until.After(time.Now()) {
		t.Errorf("polled until %v, %v; want a time that has come", until, err)
	}
}
