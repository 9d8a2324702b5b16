package reporting

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
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

// Rates are the prices of messages, as the operator gives them.
type Rates struct{ all []rate }

type rate struct {
	market, category, currency string
	each                       *big.Rat
	from                       time.Time
}

// rateColumns are the columns of the file of rates.
var rateColumns = []string{"market", "category", "currency", "rate", "from"}

// byteOrderMark is the mark with which Excel begins a "CSV UTF-8" file.
const byteOrderMark = "\ufeff"

// ReadRates reads a CSV file with the columns market (ISO 3166-1, or * for every other), category,
// currency (ISO 4217), rate and from (the first day on which it holds, in UTC). An error names the
// file and the line.
func ReadRates(path string) (*Rates, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := bufio.NewReader(f)
	if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark))
	}
	r := csv.NewReader(text)
	head, err := r.Read()
	if err != nil || !slices.Equal(head, rateColumns) {
		return nil, fmt.Errorf("%s:1: want the columns %s, got %.100q", path, strings.Join(rateColumns, ","), strings.Join(head, ","))
	}
	rates, seen := &Rates{}, map[string]int{}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rates, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		line, _ := r.FieldPos(0)
		one, fault := readRate(cells)
		key := strings.Join([]string{one.market, one.category, one.from.String()}, " ")
		if at := seen[key]; fault == "" && at != 0 {
			fault = fmt.Sprintf("line %d has a rate of this market and category from the same day", at)
		}
		if fault != "" {
			return nil, fmt.Errorf("%s:%d: %s", path, line, fault)
		}
		seen[key] = line
		rates.all = append(rates.all, one)
	}
}

func readRate(cells []string) (r rate, fault string) {
	r = rate{market: strings.ToUpper(cells[0]), category: strings.ToLower(cells[1]), currency: strings.ToUpper(cells[2])}
	each, ok := new(big.Rat).SetString(cells[3])
	from, err := time.Parse(time.DateOnly, cells[4])
	letters := func(s string) bool { return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" }
	switch {
	case r.market != "*" && (len(r.market) != 2 || !letters(r.market)):
		return r, fmt.Sprintf("market %q is no country such as DE, and not *", cells[0])
	case r.category == "":
		return r, "category is empty; give one such as marketing"
	case len(r.currency) != 3 || !letters(r.currency):
		return r, fmt.Sprintf("currency %q is not one such as EUR", cells[2])
	case !ok || len(cells[3]) > 32 || strings.ContainsAny(cells[3], "eE/_xX") || each.Sign() < 0:
		return r, fmt.Sprintf("rate %q is no amount such as 0.0648", cells[3])
	case err != nil:
		return r, fmt.Sprintf("from %q is no day such as 2026-10-01", cells[4])
	}
	r.each, r.from = each, from
	return r, ""
}

// find returns the rate of a message that was delivered at an instant: the latest one of its
// market, else of every other market; nil: there is none.
func (rs *Rates) find(market, category string, at time.Time) (best *rate) {
	if rs == nil {
		return nil
	}
	for i := range rs.all {
		r := &rs.all[i]
		if r.category != category || r.market != market && r.market != "*" || r.from.After(at) {
			continue
		}
		if best == nil || r.market != best.market && r.market != "*" || r.market == best.market && r.from.After(best.from) {
			best = r
		}
	}
	return best
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
	rates   *Rates
	markets *recipients.Countries
}

// NewPricer returns a Pricer by these rates, which may be nil.
func NewPricer(rates *Rates) *Pricer {
	return &Pricer{rates: rates, markets: recipients.NewCountries()}
}

// Bill returns the bill of a message. It is zero if the platform told no price.
func (p *Pricer) Bill(m campaign.Priced) Bill {
	if m.Price == "" {
		return Bill{}
	}
	b, r, _ := p.price(m)
	if r != nil {
		b.Currency, b.Cost = r.currency, decimal(r.each)
	}
	return b
}

// price is Bill with the rate; nil: none. Only a message that is to be paid has a rate, which is a
// delivered one of the type regular.
func (p *Pricer) price(m campaign.Priced) (b Bill, r *rate, toPay bool) {
	b.Type, b.Category = m.Price.Words()
	b.Market = p.markets.Region(m.To)
	if toPay = b.Type == "regular" && !m.Delivered.IsZero(); toPay {
		r = p.rates.find(b.Market, b.Category, m.Delivered)
	}
	return b, r, toPay
}

// CostOf reads what the platform told of a run's messages, and prices those that were delivered. It
// returns nil if no price was told. rates may be nil.
func CostOf(ctx context.Context, l campaign.PriceLedger, no campaign.RunNo, rates *Rates) (*Cost, error) {
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
		case sums[r.currency] == nil:
			sums[r.currency] = new(big.Rat).Set(r.each)
		default:
			sums[r.currency].Add(sums[r.currency], r.each)
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
		cost.Amounts = append(cost.Amounts, Amount{currency, json.Number(decimal(sum))})
	}
	slices.SortFunc(cost.Amounts, func(a, b Amount) int { return cmp.Compare(a.Currency, b.Currency) })
	return cost, nil
}

// decimal writes a sum of decimals exactly.
func decimal(r *big.Rat) string {
	s := r.FloatString(32) // a rate has at most 32 characters
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
