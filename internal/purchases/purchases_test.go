package purchases_test

import (
	"testing"
	"time"

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
