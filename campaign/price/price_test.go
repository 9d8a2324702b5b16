package price

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func read(t *testing.T, text string) (*Rates, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rates.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(path)
}

const someRates = `market,category,currency,rate,from
DE,marketing,EUR,0.1131,2026-09-01
DE,marketing,EUR,0.12,2026-10-10
NG,marketing,USD,0.0516,2026-09-01
IN,marketing,USD,0.00005,2026-09-01
*,utility,EUR,0.01,2026-09-01
`

func day(n int) time.Time { return time.Date(2026, 10, n, 12, 0, 0, 0, time.UTC) }

// The sums are by hand: 3 x 0.1131 + the markets without a rate apart, two currencies, the rate of
// the day, and 0.00005 x 10,000,000 without a rounding.
func TestAnEstimateIsCountedByHand(t *testing.T) {
	rs, err := read(t, someRates)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{"DE": 3, "NG": 7, "IN": 10_000_000, "CM": 2, "": 1}
	got := rs.Estimate(rows, "MARKETING", day(9), &Past{Of: "template spring_sale", Runs: 2, Messages: 1000, Delivered: 900})
	want := &Estimate{
		Day: "2026-10-09", Category: "marketing",
		Markets: []Market{
			{Market: "IN", Messages: 10_000_000, Currency: "USD", Rate: "0.00005", High: "500"},
			{Market: "NG", Messages: 7, Currency: "USD", Rate: "0.0516", High: "0.3612"},
			{Market: "DE", Messages: 3, Currency: "EUR", Rate: "0.1131", High: "0.3393"},
			{Market: "CM", Messages: 2}, {Market: "", Messages: 1},
		},
		Totals: []Total{
			{Currency: "EUR", Low: "0.3054", High: "0.3393"}, // 0.30537
			{Currency: "USD", Low: "450.3251", High: "500.3612"},
		},
		Unrated: 3,
		Past:    &Past{Of: "template spring_sale", Runs: 2, Messages: 1000, Delivered: 900},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Market{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	const sentence = "0.3054 to 0.3393 EUR and 450.3251 to 500.3612 USD, marketing at the rates of 2026-10-09; " +
		"no rate for 3 marketing messages (CM, no country)"
	if got.String() != sentence {
		t.Errorf("got %q, want %q", got, sentence)
	}
	const assumes = "the lower figure if 90.0 % are delivered, as in the last 2 runs of template spring_sale; the higher one if all are"
	if got.Assumes() != assumes {
		t.Errorf("got %q, want %q", got.Assumes(), assumes)
	}
}

// A rate counts from its day on, and lite messages of the platform have the price of the others.
func TestAnEstimateHasTheRatesOfItsDay(t *testing.T) {
	rs, err := read(t, someRates)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		category string
		market   string
		at       time.Time
		want     string
	}{
		{"marketing", "DE", day(9), "0.1131"},
		{"marketing", "DE", day(10), "0.12"},
		{"marketing_lite", "DE", day(10), "0.12"},
		{"utility", "DE", day(9), "0.01"},
		{"utility", "", day(9), "0.01"},
		{"authentication", "DE", day(9), ""},
		{"marketing", "DE", day(9).AddDate(0, -2, 0), ""},
	} {
		e := rs.Estimate(map[string]int64{of.market: 1}, of.category, of.at, nil)
		if got := e.Markets[0].Rate; got != of.want || (e.Unrated == 1) != (of.want == "") {
			t.Errorf("%s in %q on %s: got the rate %q and %d without one, want %q", of.category, of.market, e.Day, got, e.Unrated, of.want)
		}
		if e.Assumes() != "" || len(e.Totals) == 1 && e.Totals[0].Low != "" {
			t.Errorf("got %+v without earlier runs, want no lower figure", e)
		}
	}
}

// Nothing is said where nothing is known.
func TestThereIsNoEstimateOfTheUnknown(t *testing.T) {
	rs, err := read(t, someRates)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{"DE": 1}
	for name, got := range map[string]*Estimate{
		"without rates":      (*Rates)(nil).Estimate(rows, "marketing", day(9), nil),
		"without a category": rs.Estimate(rows, "", day(9), nil),
		"without messages":   rs.Estimate(nil, "marketing", day(9), nil),
	} {
		if got != nil {
			t.Errorf("%s: got %+v, want none", name, got)
		}
	}
	if got := rs.Estimate(rows, "marketing", day(9), &Past{Runs: 1}); got.Past != nil || got.Totals[0].Low != "" {
		t.Errorf("after a run without a message: got %+v, want no lower figure", got)
	}
	got := rs.Estimate(rows, "authentication", day(9), nil).String()
	if !strings.HasPrefix(got, "not known; no rate for 1 authentication message (DE)") {
		t.Errorf("got %q, want that the cost is not known", got)
	}
}

func TestAFileOfRatesNamesItsFaults(t *testing.T) {
	const head = "market,category,currency,rate,from\n"
	for text, want := range map[string]string{
		"":              ":1: want the columns",
		"market,rate\n": `:1: want the columns market,category,currency,rate,from, got "market,rate"`,
		head + "Germany,marketing,EUR,1,2026-10-01\n":                           ":2: market",
		head + "DE,,EUR,1,2026-10-01\n":                                         ":2: category is empty",
		head + "DE,marketing,Euro,1,2026-10-01\n":                               ":2: currency",
		head + "DE,marketing,EUR,-1,2026-10-01\n":                               ":2: rate",
		head + "DE,marketing,EUR,1e9,2026-10-01\n":                              ":2: rate",
		head + "DE,marketing,EUR,1,01.10.2026\n":                                ":2: from",
		head + "DE,marketing,EUR,1,2026-10-01\nde,Marketing,EUR,2,2026-10-01\n": ":3: line 2 has a rate",
		head + "DE,marketing,EUR\n":                                             "wrong number of fields",
	} {
		if _, err := read(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := Read("/nowhere/rates.csv"); err == nil {
		t.Error("got no error of a file that does not exist, want one")
	}
}
