package shop

import "github.com/shopspring/decimal"

// cut is what a discount takes away: a percentage of what is left, or a fixed amount.
type cut struct {
	fixed bool
	value decimal.Decimal // percent, or an amount
}

// off is how much the cut takes from what is left. It is rounded, and what is left never becomes
// negative (docs/commerce.md#assumptions).
func (d cut) off(left decimal.Decimal, digits int32) decimal.Decimal {
	amount := d.value
	if !d.fixed {
		amount = left.Mul(d.value).Shift(-2)
	}
	return decimal.Min(amount.Round(digits), left)
}

// sold is what the totals need of a line of an order.
type sold struct {
	price    decimal.Decimal
	quantity int64
	cuts     []cut             // in the order in which they apply
	rates    []decimal.Decimal // percent, signed; none if the line is not taxable
}

// totals are the sums of an order, which the server computes (docs/commerce.md#assumptions).
type totals struct {
	subtotal       decimal.Decimal
	lineDiscounts  decimal.Decimal
	orderDiscounts decimal.Decimal
	shipping       decimal.Decimal
	outOfTax       decimal.Decimal
	positiveTaxes  decimal.Decimal
	negativeTaxes  decimal.Decimal
	total          decimal.Decimal
}

// total computes the sums of an order. Each discount and each tax of each line is rounded to the
// digits of the currency, half away from zero. A tax is that of the line less its own discounts;
// shipping is not taxed.
func total(lines []sold, cuts []cut, shipping decimal.Decimal, digits int32) totals {
	t := totals{shipping: shipping}
	for _, l := range lines {
		sum := l.price.Mul(decimal.NewFromInt(l.quantity))
		t.subtotal = t.subtotal.Add(sum)
		for _, d := range l.cuts {
			off := d.off(sum, digits)
			sum = sum.Sub(off)
			t.lineDiscounts = t.lineDiscounts.Add(off)
		}
		for _, rate := range l.rates {
			tax := sum.Mul(rate).Shift(-2).Round(digits)
			if tax.IsNegative() {
				t.negativeTaxes = t.negativeTaxes.Add(tax)
			} else {
				t.positiveTaxes = t.positiveTaxes.Add(tax)
			}
		}
	}
	left := t.subtotal.Sub(t.lineDiscounts)
	for _, d := range cuts {
		off := d.off(left, digits)
		left = left.Sub(off)
		t.orderDiscounts = t.orderDiscounts.Add(off)
	}
	t.outOfTax = left.Add(shipping)
	t.total = t.outOfTax.Add(t.positiveTaxes).Add(t.negativeTaxes)
	return t
}
