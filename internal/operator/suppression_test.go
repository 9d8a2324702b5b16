package operator_test

import (
	"fmt"
	"slices"
	"testing"

	"campaignd/campaign"
)

// An earlier version stored a number with two spellings under other keys than this one. A page
// ends where the next one begins, whatever the keys are, and a number is found by either spelling.
func TestPagesOfSuppressionsHaveEachEntryOnce(t *testing.T) {
	d, _ := session(t)
	var all []campaign.Suppression
	var want []string
	for _, key := range []int64{541123456789, 542214567890, 2348030000001, 5491123456789, 5491123456790, 22997123456, 553187654321} {
		to := fmt.Sprintf("+%d", key)
		if key == 5491123456789 || key == 5491123456790 {
			to = fmt.Sprintf("+54%d", key-5490000000000) // this version has the number as it came
		}
		all = append(all, campaign.Suppression{Key: key, To: to, Scope: campaign.ScopeAll, Source: "import"})
		want = append(want, to)
	}
	if _, err := d.Ledger.Suppress(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	var got []string
	for after, pages := "", 0; pages == 0 || after != ""; pages++ {
		list, next, err := d.Suppressions(t.Context(), "", after, 1)
		if err != nil || pages > len(all) {
			t.Fatalf("page %d behind %q: %v; want %d pages", pages, after, err, len(all))
		}
		for _, s := range list {
			got = append(got, s.To)
		}
		after = next
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("pages of one entry: got %q, want %q", got, want)
	}
	for _, to := range []string{"+541123456789", "+5491123456789"} {
		list, _, err := d.Suppressions(t.Context(), to, "", 10)
		if err != nil || len(list) != 2 {
			t.Errorf("entries of %s: %+v, %v; want both that are stored", to, list, err)
		}
	}
}
