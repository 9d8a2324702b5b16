package reporting

import (
	"bytes"
	"strings"
	"testing"

	"campaignd/campaign/conversion"
)

func TestTheTableShowsWhatACampaignBrought(t *testing.T) {
	lift := conversion.NewLift(9000, 189, 90, 1)
	r := &Report{Totals: Totals{}, Conversions: &conversion.Conversions{Orders: 1200, People: 1100, Reversed: 2,
		Revenue: []conversion.Revenue{{Currency: "EUR", Amount: "51230.4"}, {Currency: "XAF", Amount: "5000"}}}, Lift: &lift}
	var b bytes.Buffer
	if err := r.Table(&b, 0); err != nil {
		t.Fatalf("the table: %v; want no error", err)
	}
	for _, want := range []string{"\nconversions\n", "orders      1,200", "people      1,100", "reversed        2",
		"51230.4  EUR", "5000  XAF",
		"\nlift\n", "treated     189  of 9,000 bought (2.1 %)", "held out      1  of 90 bought (1.1 %)",
		"+0.99 points, 95 % interval -3.94 to +1.96", "fewer than 100 people"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}
