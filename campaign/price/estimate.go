package price

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"campaignd/internal/sentence"
)

// Estimate is what the messages of a list will cost by the rates of one day. Nothing is converted.
type Estimate struct {
	// Day is the day whose rates count, as 2026-10-01, in UTC.
	Day      string `json:"day"`
	Category string `json:"category"`
	// Markets are the messages by market, the dearest first.
	Markets []Market `json:"markets"`
	// Totals are the sums by currency.
	Totals []Total `json:"totals"`
	// Unrated is how many messages have no rate; they are in no total.
	Unrated int64 `json:"unrated"`
	// Past is what Low assumes; nil: no earlier run is like this one, so there is no Low.
	Past *Past `json:"past,omitempty"`
}

// Market counts the messages of one market.
type Market struct {
	Market   string `json:"market"` // ISO 3166-1; "" if the number has no country
	Messages int64  `json:"messages"`
	Currency string `json:"currency,omitempty"` // "": it has no rate
	Rate     string `json:"rate,omitempty"`     // of one message
	High     string `json:"high,omitempty"`     // if every message is delivered

	high *big.Rat
}

// Total is a sum in one currency, as a decimal.
type Total struct {
	Currency string `json:"currency"`
	// Low is if as many are delivered as of earlier runs, rounded to 4 decimals; "" without Past.
	Low string `json:"low,omitempty"`
	// High is if every message is delivered: exact, and never exceeded at these rates.
	High string `json:"high"`
}

// Past counts the messages of earlier runs that are like a new one.
type Past struct {
	Of        string `json:"of"` // what the runs have in common, such as "template spring_sale"
	Runs      int    `json:"runs"`
	Messages  int64  `json:"messages"` // rows that were not skipped
	Delivered int64  `json:"delivered"`
}

// Share is the part of the messages that was delivered, in per cent.
func (p Past) Share() float64 { return 100 * float64(p.Delivered) / float64(p.Messages) }

// Estimate counts what messages of a category, as the platform writes it in any case, cost at an
// instant. rows has their number by market. Messages that the platform will not charge, such as a
// utility message in an open window, are not known beforehand and count as paid. It returns nil
// without rates, a category or messages. past may be nil.
func (rs *Rates) Estimate(rows map[string]int64, category string, at time.Time, past *Past) *Estimate {
	category = strings.ToLower(category)
	if rs == nil || category == "" || len(rows) == 0 {
		return nil
	}
	if past != nil && past.Messages <= 0 {
		past = nil
	}
	e := &Estimate{Day: at.UTC().Format(time.DateOnly), Category: category, Markets: []Market{}, Totals: []Total{}, Past: past}
	sums := map[string]*big.Rat{}
	for market, n := range rows {
		m := Market{Market: market, Messages: n}
		if r := rs.Find(market, category, at); r == nil {
			e.Unrated += n
		} else {
			m.high = new(big.Rat).Mul(r.Each, new(big.Rat).SetInt64(n))
			m.Currency, m.Rate, m.High = r.Currency, Decimal(r.Each), Decimal(m.high)
			if sums[r.Currency] == nil {
				sums[r.Currency] = new(big.Rat)
			}
			sums[r.Currency].Add(sums[r.Currency], m.high)
		}
		e.Markets = append(e.Markets, m)
	}
	slices.SortFunc(e.Markets, func(a, b Market) int {
		if a.high != nil && b.high != nil && a.Currency == b.Currency {
			return cmp.Or(b.high.Cmp(a.high), cmp.Compare(a.Market, b.Market))
		}
		return cmp.Or(cmp.Compare(b.Currency, a.Currency), cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.Market, b.Market))
	})
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		t := Total{Currency: currency, High: Decimal(sums[currency])}
		if past != nil {
			low := new(big.Rat).Mul(sums[currency], big.NewRat(past.Delivered, past.Messages))
			t.Low = trimmed(low.FloatString(4))
		}
		e.Totals = append(e.Totals, t)
	}
	return e
}

// String is the estimate in one sentence, such as "39.10 to 41.20 EUR, marketing at the rates of
// 2026-10-01".
func (e *Estimate) String() string {
	var all []string
	for _, t := range e.Totals {
		switch {
		case t.Low == "" || t.Low == t.High:
			all = append(all, Money(t.High)+" "+t.Currency)
		default:
			all = append(all, fmt.Sprintf("%s to %s %s", Money(t.Low), Money(t.High), t.Currency))
		}
	}
	text := strings.Join(all, " and ")
	if len(all) == 0 {
		text = "not known"
	} else {
		text += fmt.Sprintf(", %s at the rates of %s", e.Category, e.Day)
	}
	if e.Unrated > 0 {
		var markets []string
		for _, m := range e.Markets {
			if m.Currency == "" {
				markets = append(markets, cmp.Or(m.Market, "no country"))
			}
		}
		const most = 5
		if n := len(markets) - most; n > 0 {
			markets = append(markets[:most], fmt.Sprintf("%d more", n))
		}
		unrated := sentence.Count(e.Unrated, e.Category+" message", e.Category+" messages")
		text += fmt.Sprintf("; no rate for %s (%s)", unrated, strings.Join(markets, ", "))
	}
	return text
}

// Assumes says what the lower figure assumes; "" if there is none.
func (e *Estimate) Assumes() string {
	if e.Past == nil || len(e.Totals) == 0 {
		return ""
	}
	runs := "run"
	if e.Past.Runs > 1 {
		runs = fmt.Sprintf("%d runs", e.Past.Runs)
	}
	return fmt.Sprintf("the lower figure if %.1f %% are delivered, as in the last %s of %s; the higher one if all are",
		e.Past.Share(), runs, e.Past.Of)
}

// Money writes a decimal with at least two decimals.
func Money(decimal string) string {
	whole, fraction, _ := strings.Cut(decimal, ".")
	for len(fraction) < 2 {
		fraction += "0"
	}
	return whole + "." + fraction
}

func trimmed(decimal string) string { return strings.TrimSuffix(strings.TrimRight(decimal, "0"), ".") }
