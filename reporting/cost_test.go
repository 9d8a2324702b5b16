package reporting

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/price"

	"github.com/google/go-cmp/cmp"
)

// told are the prices of a run.
type told []campaign.Priced

func (p told) Prices(_ context.Context, _ campaign.RunNo, f func(campaign.Priced)) error {
	for _, one := range p {
		f(one)
	}
	return nil
}

func rates(t *testing.T, text string) (*price.Rates, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rates.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return price.Read(path)
}

func day(n int) time.Time { return time.Date(2026, 10, n, 12, 0, 0, 0, time.UTC) }

// Three markets, two currencies, a rate that changes, a missing rate, and messages that cost
// nothing. The sums are by hand.
func TestARunsCostIsCountedByHand(t *testing.T) {
	rs, err := rates(t, "\ufeff"+`market,category,currency,rate,from
DE,marketing,EUR,0.1131,2026-09-01
DE,marketing,EUR,0.12,2026-10-10
NG,marketing,USD,0.0516,2026-09-01
*,utility,EUR,0.01,2026-09-01
`)
	if err != nil {
		t.Fatal(err)
	}
	const marketing, utility, free = "regular/marketing", "regular/utility", "free_customer_service/utility"
	l := told{
		{To: "+4915112345678", Price: marketing, Delivered: day(9)},  // 0.1131 EUR
		{To: "+4915112345679", Price: marketing, Delivered: day(10)}, // 0.12 EUR
		{To: "+4915112345670", Price: marketing},                     // not delivered
		{To: "+2348031234567", Price: marketing, Delivered: day(9)},  // 0.0516 USD
		{To: "+23767812094", Price: marketing, Delivered: day(9)},    // CM: no rate
		{To: "+23767812095", Price: utility, Delivered: day(9)},      // 0.01 EUR, of every other market
		{To: "+4915112345671", Price: free, Delivered: day(9)},       // free
	}
	got, err := CostOf(t.Context(), l, 1, rs)
	if err != nil {
		t.Fatal(err)
	}
	want := &Cost{
		Messages: []Billed{
			{Category: "marketing", Type: "regular", Market: "CM", Messages: 1, Delivered: 1},
			{Category: "marketing", Type: "regular", Market: "DE", Messages: 3, Delivered: 2},
			{Category: "marketing", Type: "regular", Market: "NG", Messages: 1, Delivered: 1},
			{Category: "utility", Type: "free_customer_service", Market: "DE", Messages: 1, Delivered: 1},
			{Category: "utility", Type: "regular", Market: "CM", Messages: 1, Delivered: 1},
		},
		Amounts: []Amount{{"EUR", json.Number("0.2431")}, {"USD", json.Number("0.0516")}},
		Unrated: 1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	var table strings.Builder
	if err := (&Report{Cost: got}).Table(&table, 0); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"marketing regular DE", "cost in EUR", "0.2431", "without a rate"} {
		if !strings.Contains(table.String(), line) {
			t.Errorf("got the table\n%s\nwant %q in it", table.String(), line)
		}
	}
}

func TestARunWithoutPricesHasNoCost(t *testing.T) {
	if got, err := CostOf(t.Context(), told{}, 1, nil); got != nil || err != nil {
		t.Errorf("got %+v, %v; want no cost", got, err)
	}
	got, err := CostOf(t.Context(), told{{To: "+4915112345678", Price: "regular/marketing", Delivered: day(1)}}, 1, nil)
	if err != nil || got.Unrated != 1 || len(got.Amounts) != 0 {
		t.Errorf("got %+v, %v without rates; want one message without a rate", got, err)
	}
}
