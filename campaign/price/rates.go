// Package price has the operator's own prices of messages, and what a list will cost by them.
package price

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"
)

// Rates are the prices of messages, as the operator gives them.
type Rates struct{ all []Rate }

// Rate is the price of one message.
type Rate struct {
	Currency string   // ISO 4217
	Each     *big.Rat // exactly as the file has it

	market, category string
	from             time.Time
}

// rateColumns are the columns of the file of rates.
var rateColumns = []string{"market", "category", "currency", "rate", "from"}

// byteOrderMark is the mark with which Excel begins a "CSV UTF-8" file.
const byteOrderMark = "\ufeff"

// Read reads a CSV file with the columns market (ISO 3166-1, or * for every other), category,
// currency (ISO 4217), rate and from (the first day on which it holds, in UTC). An error names the
// file and the line.
func Read(path string) (*Rates, error) {
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

func readRate(cells []string) (r Rate, fault string) {
	r = Rate{market: strings.ToUpper(cells[0]), category: strings.ToLower(cells[1]), Currency: strings.ToUpper(cells[2])}
	each, ok := new(big.Rat).SetString(cells[3])
	from, err := time.Parse(time.DateOnly, cells[4])
	letters := func(s string) bool { return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" }
	switch {
	case r.market != "*" && (len(r.market) != 2 || !letters(r.market)):
		return r, fmt.Sprintf("market %q is no country such as DE, and not *", cells[0])
	case r.category == "":
		return r, "category is empty; give one such as marketing"
	case len(r.Currency) != 3 || !letters(r.Currency):
		return r, fmt.Sprintf("currency %q is not one such as EUR", cells[2])
	case !ok || len(cells[3]) > 32 || strings.ContainsAny(cells[3], "eE/_xX") || each.Sign() < 0:
		return r, fmt.Sprintf("rate %q is no amount such as 0.0648", cells[3])
	case err != nil:
		return r, fmt.Sprintf("from %q is no day such as 2026-10-01", cells[4])
	}
	r.Each, r.from = each, from
	return r, ""
}

// lite is the category of a marketing message that the platform's Marketing Messages API sent. It
// has the price of one that was sent the other way, unless the file has a rate of its own.
const lite = "marketing_lite"

// Find returns the rate of a message at an instant: the latest one of its market, else of every
// other market; nil: there is none. market is a country (ISO 3166-1), category in lower case.
func (rs *Rates) Find(market, category string, at time.Time) (best *Rate) {
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
	if best == nil && category == lite {
		return rs.Find(market, "marketing", at)
	}
	return best
}

// Decimal writes a sum of rates exactly.
func Decimal(r *big.Rat) string {
	return trimmed(r.FloatString(32)) // a rate has at most 32 characters
}
