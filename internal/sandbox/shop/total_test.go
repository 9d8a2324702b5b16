package shop

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// oracle computes the sums of an order from the document's rules in fractions of whole units, with
// no code of the platform: every amount is a big.Rat, and rounding works on integers.
type oracle struct {
	digits   int
	subtotal *big.Rat
	lineOff  *big.Rat
	orderOff *big.Rat
	positive *big.Rat
	negative *big.Rat
}

func rat(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number, want one", text)
	}
	return r
}

// round rounds half away from zero: floor(|x| * 10^digits + 1/2), with the sign of x.
func (o *oracle) round(x *big.Rat) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(o.digits)), nil)
	up := new(big.Rat).Mul(new(big.Rat).Abs(x), new(big.Rat).SetInt(scale))
	up.Add(up, big.NewRat(1, 2))
	whole := new(big.Int).Quo(up.Num(), up.Denom())
	return new(big.Rat).Mul(new(big.Rat).SetFrac(whole, scale), big.NewRat(int64(x.Sign()), 1))
}

func percent(of, rate *big.Rat) *big.Rat {
	return new(big.Rat).Quo(new(big.Rat).Mul(of, rate), big.NewRat(100, 1))
}

// reduce takes the discounts from the amount, one after the other, and returns what they took.
func (o *oracle) reduce(amount *big.Rat, cuts []drawnCut, t *rapid.T) *big.Rat {
	off := new(big.Rat)
	for _, c := range cuts {
		take := rat(t, c.value)
		left := new(big.Rat).Sub(amount, off)
		if !c.fixed {
			take = percent(left, take)
		}
		if take = o.round(take); take.Cmp(left) > 0 {
			take = left
		}
		off.Add(off, take)
	}
	return off
}

// The drawn order holds its amounts as text, so that each side reads them by itself.
type drawnCut struct {
	fixed bool
	value string
}

type drawnLine struct {
	price    string
	sent     bool // with the order; else it is the variant's
	quantity int
	cuts     []drawnCut
	rates    []string
}

type drawnOrder struct {
	currency string
	lines    []drawnLine
	cuts     []drawnCut
	mode     string // fee, pickup or sent
	shipping string // its amount
}

func amountText(digits int, most int64) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.Int64Range(0, most).Draw(t, "units")
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
		return new(big.Rat).SetFrac(big.NewInt(n), scale).FloatString(digits)
	})
}

var drawnCuts = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) drawnCut {
	c := drawnCut{fixed: rapid.Bool().Draw(t, "fixed")}
	if c.fixed {
		c.value = amountText(3, 90_000).Draw(t, "amount")
	} else {
		c.value = amountText(3, 110_000).Draw(t, "percent")
	}
	return c
}), 0, 3)

func drawOrder(t *rapid.T) drawnOrder {
	o := drawnOrder{currency: rapid.SampledFrom([]string{"EUR", "XAF", "JPY", "USD"}).Draw(t, "currency")}
	places := map[string]int{"EUR": 2, "USD": 2, "XAF": 0, "JPY": 0}[o.currency]
	rate := rapid.Custom(func(t *rapid.T) string {
		text := amountText(4, 300_000).Draw(t, "rate")
		if rapid.Bool().Draw(t, "negative") {
			text = "-" + text
		}
		return text
	})
	o.lines = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) drawnLine {
		return drawnLine{
			price:    amountText(places, 1_000_000).Draw(t, "price"),
			sent:     rapid.Bool().Draw(t, "price sent"),
			quantity: rapid.IntRange(1, 1000).Draw(t, "quantity"),
			cuts:     drawnCuts.Draw(t, "line discounts"),
			rates:    rapid.SliceOfN(rate, 0, 3).Draw(t, "taxes"),
		}
	}), 1, 6).Draw(t, "lines")
	o.cuts = drawnCuts.Draw(t, "order discounts")
	o.mode = rapid.SampledFrom([]string{"fee", "pickup", "sent"}).Draw(t, "shipping by")
	o.shipping = rapid.OneOf(rapid.Just("0"), amountText(places, 5000)).Draw(t, "shipping")
	return o
}

// sums are the document's names of the totals, in the order of its rules.
type sums map[string]*big.Rat

func (o drawnOrder) expected(t *rapid.T) sums {
	x := oracle{digits: map[string]int{"EUR": 2, "USD": 2, "XAF": 0, "JPY": 0}[o.currency], subtotal: new(big.Rat), lineOff: new(big.Rat),
		positive: new(big.Rat), negative: new(big.Rat)}
	for _, l := range o.lines {
		full := new(big.Rat).Mul(rat(t, l.price), big.NewRat(int64(l.quantity), 1))
		off := x.reduce(full, l.cuts, t)
		x.subtotal.Add(x.subtotal, full)
		x.lineOff.Add(x.lineOff, off)
		for _, r := range l.rates {
			tax := x.round(percent(new(big.Rat).Sub(full, off), rat(t, r)))
			into := x.positive
			if tax.Sign() < 0 {
				into = x.negative
			}
			into.Add(into, tax)
		}
	}
	x.orderOff = x.reduce(new(big.Rat).Sub(x.subtotal, x.lineOff), o.cuts, t)
	discount := new(big.Rat).Add(x.lineOff, x.orderOff)
	outOfTax := new(big.Rat).Add(x.subtotal, rat(t, o.shipping))
	outOfTax.Sub(outOfTax, discount)
	total := new(big.Rat).Add(outOfTax, x.positive)
	total.Add(total, x.negative)
	return sums{"subtotal": x.subtotal, "line_discounts_total": x.lineOff, "order_discounts_total": x.orderOff, "discount": discount,
		"shipping": rat(t, o.shipping), "amount": total, "out_of_tax_total": outOfTax, "sum_positive_taxes": x.positive,
		"sum_negative_taxes": x.negative,
		"total":              total, "net_to_pay": total}
}

// computed orders it from a platform and returns the sums of the answer's billing.
func (o drawnOrder) computed(t *rapid.T) map[string]json.Number {
	ids := 0
	id := func() string {
		ids++
		return value.ULID(time.Unix(1_700_000_000, 0), 0, uint64(ids))
	}
	amount := func(text string) (a value.Amount) {
		_ = a.UnmarshalText([]byte(text)) // New would name a wrong one
		return a
	}
	c := scenario.Company{ID: id(), Name: "Acme", Handle: "acme", Currency: o.currency}
	cuts := func(from []drawnCut, level string) []map[string]any {
		named := []map[string]any{}
		for _, d := range from {
			kind := map[bool]string{true: "fixed", false: "percentage"}[d.fixed]
			made := scenario.Discount{ID: id(), Name: "d", Type: kind, Value: amount(d.value), Level: level}
			c.Discounts = append(c.Discounts, made)
			named = append(named, map[string]any{"discount_id": made.ID})
		}
		return named
	}
	body := map[string]any{"customer": map[string]any{"phone": "1"}, "discounts": cuts(o.cuts, "order")}
	lines := []map[string]any{}
	for _, l := range o.lines {
		p := scenario.Product{ID: id(), Title: "p", Handle: "p" + strconv.Itoa(ids), IsTaxable: true}
		for _, r := range l.rates {
			c.Taxes = append(c.Taxes, scenario.Tax{ID: id(), Name: "t", Rate: amount(r)})
			p.Taxes = append(p.Taxes, c.Taxes[len(c.Taxes)-1].ID)
		}
		line := map[string]any{"product_id": p.ID, "quantity": l.quantity, "discounts": cuts(l.cuts, "product")}
		v := scenario.Variant{ID: id(), Title: "v", Price: amount(l.price)}
		if l.sent { // in place of the variant's price
			v.Price, line["price"] = amount("1"), json.Number(l.price)
		}
		p.Variants = []scenario.Variant{v}
		c.Products, lines = append(c.Products, p), append(lines, line)
	}
	body["products"] = lines
	switch fee := (scenario.ShippingFee{ID: id(), Name: "f", Amount: amount(o.shipping)}); o.mode {
	case "fee":
		c.ShippingFees, body["shipping_fee_id"] = []scenario.ShippingFee{fee}, fee.ID
		body["shipping"] = map[string]any{"mode": "online", "amount": 7}
	case "pickup":
		c.PickupLocations, body["pickup_location_id"] = []scenario.PickupLocation{{ShippingFee: fee}}, fee.ID
		body["shipping"] = map[string]any{"mode": "pickup", "amount": 7}
	default:
		body["shipping"] = map[string]any{"mode": "other", "amount": o.shipping}
	}
	p, err := New(scenario.Commerce{Companies: []scenario.Company{c}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	status, answer := ask(p, "POST", "/2023-11/customers/orders", string(text), "X-Company: "+c.ID)
	var out struct {
		Data struct{ Billing map[string]any }
	}
	d := json.NewDecoder(strings.NewReader(answer))
	d.UseNumber()
	if err := d.Decode(&out); err != nil || status != 200 {
		t.Fatalf("the order %s: got %d %s, want 200", text, status, answer)
	}
	sums := map[string]json.Number{}
	for name, v := range out.Data.Billing {
		if n, ok := v.(json.Number); ok {
			sums[name] = n
		}
	}
	return sums
}

// The totals of random orders are those of other arithmetic (docs/commerce.md#assumptions).
func TestTotalsEqualThoseOfOtherArithmetic(t *testing.T) {
	for range 10 { // 100 orders each
		rapid.Check(t, func(t *rapid.T) {
			o := drawOrder(t)
			got := o.computed(t)
			for name, want := range o.expected(t) {
				if g := rat(t, got[name].String()); g.Cmp(want) != 0 {
					t.Errorf("%s: got %s, want %s", name, got[name], want.RatString())
				}
			}
		})
	}
}
