package reporting

import (
	"cmp"
	"context"
	"encoding/json"
	"math/big"
	"slices"

	"campaignd/campaign"
	"campaignd/campaign/price"
	"campaignd/recipients"
)

// Cost is what a run's messages cost by the operator's own rates (docs/cloud.md#cost).
type Cost struct {
	// Messages counts the messages whose price was told.
	Messages []Billed `json:"messages"`
	// Amounts are the sums by currency, never converted.
	Amounts []Amount `json:"amounts"`
	// Unrated is how many delivered messages of the type regular have no rate.
	Unrated int64 `json:"unrated"`
}

// Billed counts the messages of one category, type and market.
type Billed struct {
	Category  string `json:"category"`
	Type      string `json:"type"`
	Market    string `json:"market"` // ISO 3166-1; "" if the number has no country
	Messages  int64  `json:"messages"`
	Delivered int64  `json:"delivered"`
}

// Amount is a sum in one currency.
type Amount struct {
	Currency string      `json:"currency"`
	Amount   json.Number `json:"amount"`
}

// Bill is how the platform bills one message, and what the message costs.
type Bill struct {
	Category, Type string
	Market         string // ISO 3166-1; "" if the number has no country
	Currency       string // "": the message has no rate, or is not to be paid
	Cost           string // in Currency, exactly as the file of rates has it
}

// Pricer makes bills. It is for one goroutine.
type Pricer struct {
	rates   *price.Rates
	markets *recipients.Countries
}

// NewPricer returns a Pricer by these rates, which may be nil.
func NewPricer(rates *price.Rates) *Pricer {
	return &Pricer{rates: rates, markets: recipients.NewCountries()}
}

// Bill returns the bill of a message. It is zero if the platform told no price.
func (p *Pricer) Bill(m campaign.Priced) Bill {
	if m.Price == "" {
		return Bill{}
	}
	b, r, _ := p.price(m)
	if r != nil {
		b.Currency, b.Cost = r.Currency, price.Decimal(r.Each)
	}
	return b
}

// price is Bill with the rate; nil: none. Only a message that is to be paid has a rate, which is a
// delivered one of the type regular.
func (p *Pricer) price(m campaign.Priced) (b Bill, r *price.Rate, toPay bool) {
	b.Type, b.Category = m.Price.Words()
	b.Market = p.markets.Region(m.To)
	if toPay = b.Type == "regular" && !m.Delivered.IsZero(); toPay {
		r = p.rates.Find(b.Market, b.Category, m.Delivered)
	}
	return b, r, toPay
}

// CostOf reads what the platform told of a run's messages, and prices those that were delivered. It
// returns nil if no price was told. rates may be nil.
func CostOf(ctx context.Context, l campaign.PriceLedger, no campaign.RunNo, rates *price.Rates) (*Cost, error) {
	pricer, counts, sums := NewPricer(rates), map[Bill]*Billed{}, map[string]*big.Rat{}
	cost := &Cost{Messages: []Billed{}, Amounts: []Amount{}}
	err := l.Prices(ctx, no, func(p campaign.Priced) {
		bill, r, toPay := pricer.price(p)
		n := counts[bill]
		if n == nil {
			n = &Billed{Category: bill.Category, Type: bill.Type, Market: bill.Market}
			counts[bill] = n
		}
		n.Messages++
		if !p.Delivered.IsZero() {
			n.Delivered++
		}
		switch {
		case !toPay:
		case r == nil:
			cost.Unrated++
		case sums[r.Currency] == nil:
			sums[r.Currency] = new(big.Rat).Set(r.Each)
		default:
			sums[r.Currency].Add(sums[r.Currency], r.Each)
		}
	})
	if err != nil || len(counts) == 0 {
		return nil, err
	}
	for _, n := range counts {
		cost.Messages = append(cost.Messages, *n)
	}
	slices.SortFunc(cost.Messages, func(a, b Billed) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Market, b.Market))
	})
	for currency, sum := range sums {
		cost.Amounts = append(cost.Amounts, Amount{currency, json.Number(price.Decimal(sum))})
	}
	slices.SortFunc(cost.Amounts, func(a, b Amount) int { return cmp.Compare(a.Currency, b.Currency) })
	return cost, nil
}
