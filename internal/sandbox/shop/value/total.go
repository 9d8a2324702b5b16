package value

import "github.com/shopspring/decimal"

// Cut is what a discount takes away: a percentage of what is left, or a fixed amount.
type Cut struct {
	Fixed bool
	Value decimal.Decimal // percent, or an amount
}

// off is how much the cut takes from what is left. It is rounded, and what is left never becomes
// negative (docs/commerce.md#assumptions).
func (d Cut) off(left decimal.Decimal, digits int32) decimal.Decimal {
	amount := d.Value
	if !d.Fixed {
		amount = left.Mul(d.Value).Shift(-2)
	}
	return decimal.Min(amount.Round(digits), left)
}

// Sold is what the totals need of a line of an order.
type Sold struct {
	Price    decimal.Decimal
	Quantity int64
	Cuts     []Cut             // in the order in which they apply
	Rates    []decimal.Decimal // percent, signed; none if the line is not taxable
}

// Totals are the sums of an order, which the server computes (docs/commerce.md#assumptions).
type Totals struct {
	Subtotal       decimal.Decimal
	LineDiscounts  decimal.Decimal
	OrderDiscounts decimal.Decimal
	Shipping       decimal.Decimal
	OutOfTax       decimal.Decimal
	PositiveTaxes  decimal.Decimal
	NegativeTaxes  decimal.Decimal
	Total          decimal.Decimal
}

// Total computes the sums of an order. Each discount and each tax of each line is rounded to the
// digits of the currency, half away from zero. A tax is computed on the line less its own
// discounts; shipping is not taxed.
func Total(lines []Sold, cuts []Cut, shipping decimal.Decimal, digits int32) Totals {
	t := Totals{Shipping: shipping}
	for _, l := range lines {
		sum := l.Price.Mul(decimal.NewFromInt(l.Quantity))
		t.Subtotal = t.Subtotal.Add(sum)
		for _, d := range l.Cuts {
			off := d.off(sum, digits)
			sum = sum.Sub(off)
			t.LineDiscounts = t.LineDiscounts.Add(off)
		}
		for _, rate := range l.Rates {
			tax := sum.Mul(rate).Shift(-2).Round(digits)
			if tax.IsNegative() {
				t.NegativeTaxes = t.NegativeTaxes.Add(tax)
			} else {
				t.PositiveTaxes = t.PositiveTaxes.Add(tax)
			}
		}
	}
	left := t.Subtotal.Sub(t.LineDiscounts)
	for _, d := range cuts {
		off := d.off(left, digits)
		left = left.Sub(off)
		t.OrderDiscounts = t.OrderDiscounts.Add(off)
	}
	t.OutOfTax = left.Add(shipping)
	t.Total = t.OutOfTax.Add(t.PositiveTaxes).Add(t.NegativeTaxes)
	return t
}
