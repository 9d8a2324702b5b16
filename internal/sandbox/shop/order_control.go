package shop

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// The states that the control route of an order takes. The document shows only pending
// (docs/commerce.md#assumptions).
var orderStates = []string{pending, "confirmed", "processing", "shipped", "delivered", "completed", "cancelled", "refunded"}

// payRequest is the body of POST /sandbox/commerce/pay. Without an amount all that is due is paid.
type payRequest struct {
	Order  string        `json:"order"`
	Amount *value.Amount `json:"amount"`
}

// payOrder does what the webhook of a payment provider does: the order is paid into the treasury
// account of its method.
func (p *Platform) payOrder(c *call, in payRequest) (single[orderView], error) {
	o, err := p.orderOf(in.Order)
	if err != nil {
		return single[orderView]{}, err
	}
	amount := value.Amount{Decimal: o.due()}
	if in.Amount != nil {
		amount = *in.Amount
	}
	var f flaws
	if o.ended() {
		f.add("order", "The order is "+o.status+".")
	} else {
		f.payment("amount", amount, o)
	}
	if err := f.err(); err != nil {
		return single[orderView]{}, err
	}
	var account *treasuryAccount
	if m := o.company.methodOf(o.billing.method); m != nil {
		account, _ = o.company.treasury.Get(m.TreasuryAccount)
	}
	if err := p.pay(o, amount, o.billing.method, account, c.now); err != nil {
		return single[orderView]{}, err
	}
	return single[orderView]{o.view()}, nil
}

// orderOf finds an order of any company.
func (p *Platform) orderOf(id string) (*order, error) {
	for _, co := range p.companies {
		if o, ok := co.orders.Get(id); ok {
			return o, nil
		}
	}
	return nil, say(http.StatusNotFound, "Order not found")
}

// statusRequest is the body of POST /sandbox/commerce/orders/{order}/status.
type statusRequest struct {
	Status string `json:"status"`
}

// setOrderStatus changes the status of an order. The stock of one that is cancelled or refunded
// comes back.
func (p *Platform) setOrderStatus(c *call, in statusRequest) (single[orderView], error) {
	o, err := p.orderOf(c.path("order"))
	switch {
	case err != nil:
		return single[orderView]{}, err
	case !slices.Contains(orderStates, in.Status):
		return single[orderView]{}, invalid("status", "The status is one of "+strings.Join(orderStates, ", ")+".")
	case o.ended():
		return single[orderView]{}, endedOrder(o)
	}
	if err := p.room.Has(2 + len(o.taken)); err != nil {
		return single[orderView]{}, err
	}
	if err := o.company.orders.Keep(&p.room, o); err != nil {
		return single[orderView]{}, err
	}
	o.status, o.updated = in.Status, c.now
	back := o.taken
	if o.ended() {
		giveBack(back)
		o.taken = nil
	} else {
		back = nil
	}
	p.emit(o.company, "order.updated", o.view())
	p.emitStock(o.company, back)
	return single[orderView]{o.view()}, nil
}

// stockRequest is the body of POST /sandbox/commerce/stock.
type stockRequest struct {
	Variant   string `json:"variant"`
	Warehouse string `json:"warehouse"`
	Quantity  int    `json:"quantity"`
}

// setStock sets the stock of a variant in a warehouse.
func (p *Platform) setStock(_ *call, in stockRequest) (single[variantView], error) {
	for _, co := range p.companies {
		v, ok := co.variants.Get(in.Variant)
		if !ok {
			continue
		}
		if !slices.ContainsFunc(co.warehouses(nil), func(w scenario.Warehouse) bool { return w.ID == in.Warehouse }) {
			return single[variantView]{}, invalid("warehouse", "The company has no such warehouse.")
		}
		if in.Quantity < 0 || in.Quantity > maxStock {
			return single[variantView]{}, invalid("quantity", fmt.Sprintf("The quantity is from 0 to %d.", maxStock))
		}
		v.stocks[in.Warehouse] = in.Quantity
		p.emit(co, "stock.updated", v.view(true, true))
		return single[variantView]{v.view(true, true)}, nil
	}
	return single[variantView]{}, say(http.StatusNotFound, "Variant not found")
}

// maxStock keeps sums of stock far below what an int holds.
const maxStock = 1_000_000_000
