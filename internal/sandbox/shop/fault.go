package shop

import (
	"time"

	"campaignd/internal/sandbox/draw"
	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// fires draws a fault of a request and counts it if it fires.
func (p *Platform) fires(name string, share float64, number uint64) bool {
	h := draw.Mix(p.opt.Seed, number)
	for _, c := range []byte(name) {
		h = draw.Mix(h, uint64(c))
	}
	if share <= 0 || draw.Unit(h) >= share {
		return false
	}
	p.firedMu.Lock()
	defer p.firedMu.Unlock()
	p.fired[name]++
	return true
}

// shift adds a customer and an order, before all others or after them. A client that pages through
// the list then sees a row twice, or has to read on.
func (p *Platform) shift(c *company, now value.Stamp, first bool) {
	customers, orders := &c.customers, &c.orders
	who := newCustomer(c, scenario.Customer{ID: p.newID(), FirstName: "Shift", Email: "shift@customers.example"}, now)
	o := &order{
		id: p.newID(), number: orders.Len() + 1, company: c, customer: who.ID, currency: "XAF", source: "shift", status: pending,
		shipping: shipping{mode: "other", status: pending}, created: now, updated: now,
	}
	addCustomer, addOrder := customers.Add, orders.Add
	if first {
		addCustomer, addOrder = customers.AddFirst, orders.AddFirst
		who.CreatedAt, o.created = before(customers, now), before(orders, now)
		who.updated, o.updated = who.CreatedAt, o.created
	}
	if addCustomer(&p.room, who) == nil { // a full sandbox shifts no more
		_ = addOrder(&p.room, o)
	}
}

// before is a second before the oldest record of a table.
func before[T records.Record](t *records.Table[T], now value.Stamp) value.Stamp {
	if t.Len() == 0 {
		return now
	}
	return value.Stamp{Time: t.Made.Born(t.ByBirth(0, 1, false)[0]).Add(-time.Second)}
}

// truth is what the sandbox knows, for tests. It has no key, password or secret.
type truth struct {
	orderTruth
	Customers int              `json:"customers"` // with those that are generated
	Records   int              `json:"records"`   // stored
	Requests  uint64           `json:"requests"`
	Fired     map[string]int64 `json:"fired"`
}

// truth is GET /sandbox/commerce/truth.
func (p *Platform) truth(*call) (truth, error) {
	t := truth{orderTruth: p.ordersSoFar(), Records: p.room.Used, Requests: p.asked.Load(), Fired: map[string]int64{}}
	for _, c := range p.companies {
		t.Customers += c.customers.Len()
	}
	p.firedMu.Lock()
	defer p.firedMu.Unlock()
	for name, n := range p.fired {
		t.Fired[name] = n
	}
	return t, nil
}

// showFaults is GET /sandbox/commerce/faults.
func (p *Platform) showFaults(*call) (scenario.Faults, error) { return *p.faults.Load(), nil }

// setFaults is PUT /sandbox/commerce/faults. The new faults replace all.
func (p *Platform) setFaults(_ *call, in scenario.Faults) (scenario.Faults, error) {
	if err := in.Check(); err != nil {
		return in, invalid("faults", err.Error())
	}
	p.faults.Store(&in)
	return in, nil
}
