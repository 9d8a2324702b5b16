package shop

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"html"
	"net/http"
	"net/url"

	"campaignd/internal/sandbox/shop/value"
)

// link is a payment link of an order.
type link struct {
	token      string
	order      *order
	amount     value.Amount
	successURL string
	cancelURL  string
	created    value.Stamp
}

func (l *link) Key() string { return l.token }

// linkRequest is the body of a payment link. Callback is an alias of success_url.
type linkRequest struct {
	AmountDue  *value.Amount `json:"amount_due"`
	SuccessURL string        `json:"success_url"`
	CancelURL  string        `json:"cancel_url"`
	Callback   string        `json:"callback"`
}

// linkAnswer is the address of a payment link.
type linkAnswer struct {
	URL string `json:"url"`
}

// noLink is the 400 of the document's table of errors.
func noLink() error { return say(http.StatusBadRequest, "Payment link could not be generated") }

// makeLink is POST /customers/orders/{order}/payments.
func (p *Platform) makeLink(c *call, in linkRequest) (linkAnswer, error) {
	o, ok := c.company.orders.Get(c.path("order"))
	if !ok {
		return linkAnswer{}, missing(c, "order", c.path("order"))
	}
	if !o.payableOnline() {
		return linkAnswer{}, noLink()
	}
	amount := value.Amount{Decimal: o.due()}
	if in.AmountDue != nil {
		amount = *in.AmountDue
	}
	var f flaws
	in.SuccessURL = cmp.Or(in.SuccessURL, in.Callback)
	f.webAddress("success_url", in.SuccessURL)
	f.webAddress("cancel_url", in.CancelURL)
	f.payment("amount_due", amount, o)
	if err := f.err(); err != nil {
		return linkAnswer{}, err
	}
	return p.addLink(c, &link{rand.Text(), o, amount, in.SuccessURL, in.CancelURL, c.now})
}

// addLink stores a link. Its order is stored too, so that the link sees each change of it.
func (p *Platform) addLink(c *call, l *link) (linkAnswer, error) {
	if err := c.company.orders.Keep(&p.room, l.order); err != nil {
		return linkAnswer{}, err
	}
	if err := c.company.links.Add(&p.room, l); err != nil {
		return linkAnswer{}, err
	}
	return linkAnswer{c.base + "/pay/" + l.token}, nil
}

func (f *flaws) webAddress(field, text string) {
	if u, err := url.Parse(text); text != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		f.add(field, "The "+field+" is a web address.")
	}
}

// payableOnline reports whether a payment link can be made: the billing method makes links,
// something is due, and the order has not ended.
func (o *order) payableOnline() bool {
	m := o.company.methodOf(o.billing.method)
	return m != nil && on(m.Links) && o.due().IsPositive() && !o.ended()
}

// linkOf makes the payment link of a new order, or returns nil where none can be made.
func (p *Platform) linkOf(c *call, o *order) *string {
	if !o.payableOnline() {
		return nil
	}
	made, err := p.addLink(c, &link{rand.Text(), o, value.Amount{Decimal: o.due()}, "", "", c.now})
	if err != nil {
		return nil
	}
	return &made.URL
}

// payPage is GET /pay/{token}: the page of the payment provider. The sandbox has no provider behind
// it; POST /sandbox/commerce/pay pays the order.
func (p *Platform) payPage(c *call) (plain, error) {
	for _, co := range p.companies {
		if l, ok := co.links.Get(c.path("token")); ok {
			c.header.Set("Content-Type", "text/html; charset=utf-8")
			return plain(fmt.Sprintf("<!DOCTYPE html>\n<title>%s</title>\n<h1>%s</h1>\n<p>Order %s: %s %s (%s)</p>\n",
				html.EscapeString(co.Name), html.EscapeString(co.Name), html.EscapeString(l.order.reference()),
				l.amount, html.EscapeString(l.order.currency), l.order.billingStatus())), nil
		}
	}
	return "", say(http.StatusNotFound, "Payment link not found")
}
