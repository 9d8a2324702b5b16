package operator_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/operator"
	"campaignd/recipients"

	"github.com/google/go-cmp/cmp"
)

// runOf imports a run with numbers over a connection.
func runOf(t *testing.T, l campaign.Ledger, connection string, numbers ...int64) campaign.Run {
	t.Helper()
	file := fmt.Sprintf("name: spring\nconnections: [%s]\ntemplate: {name: a, language: en}\n", connection)
	r, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: fmt.Sprint(connection, numbers), Definition: []byte(file),
		Template: "a", Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	var rows []campaign.Delivery
	seen := map[int64]campaign.SkipReason{}
	for i, n := range numbers {
		rows = append(rows, campaign.Delivery{Seq: int64(i), Row: int64(i + 2), Key: n, To: fmt.Sprintf("+%d", n), Skip: seen[n]})
		seen[n] = campaign.Duplicate
	}
	n := int64(len(rows))
	var segments []campaign.Segment
	for lo := int64(0); lo < n; lo += campaign.SegmentSize {
		segments = append(segments, campaign.Segment{Run: r.No, Index: lo / campaign.SegmentSize, Lo: lo, Hi: min(n, lo+campaign.SegmentSize)})
	}
	if err := l.AppendRows(t.Context(), r.No, 0, rows, segments); err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), r.No, n, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	return r
}

// story reads all pages of a number.
func story(t *testing.T, d *operator.Session, number string, limit int) (all []string) {
	t.Helper()
	for after := int64(0); ; {
		page, next, err := d.Person(t.Context(), number, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page {
			all = append(all, fmt.Sprintf("%s row %d %s %s", m.Run, m.Row, m.To, m.Status))
		}
		if after = next; next == 0 {
			return all
		}
	}
}

func TestAPersonsStoryHasEveryRun(t *testing.T) {
	d, _ := session(t)
	const ann, ben = 2348031234567, 2348031234568
	runOf(t, d.Ledger, "conn_1", ann, ben)
	runOf(t, d.Ledger, "conn_2", ben)
	runOf(t, d.Ledger, "conn_1", ben, ann, recipients.Key("+5491123456789"))
	want := []string{"spring-3 row 3 +2348031234567 queued", "spring-1 row 2 +2348031234567 queued"}
	check := func(d *operator.Session, number string, want ...string) {
		t.Helper()
		for _, limit := range []int{1, 100} {
			if d := cmp.Diff(want, story(t, d, number, limit)); d != "" {
				t.Errorf("pages of %d of %s (-want +got):\n%s", limit, number, d)
			}
		}
	}
	check(d, "+2348031234567", want...)
	for range 3 {
		if kept, err := d.Ledger.KeepNumbers(t.Context()); !kept || err != nil {
			t.Fatalf("got %v, %v; want the numbers of a run kept", kept, err)
		}
	}
	check(d, "+2348031234567", want...)
	check(d, "+541123456789", fmt.Sprintf("spring-3 row 4 +%d queued", recipients.Key("+5491123456789"))) // its other spelling
	check(d, "+2348031234569")

	of := func(connection string) campaign.Origin {
		return campaign.Origin{Connection: connection, Company: "co of " + connection}
	}
	company := *d
	company.Company = "co of conn_2"
	company.Origins = func(context.Context, []campaign.Hold) func(string) campaign.Origin { return of }
	check(&company, "+2348031234568", "spring-2 row 2 +2348031234568 queued")

	if _, err := d.Ledger.Erase(t.Context(), ann); err != nil {
		t.Fatal(err)
	}
	check(d, "+2348031234567")
}

// slow reads at most 5,000 rows at a time, and lasts longer than a page looks for a person.
type slow struct{ campaign.Ledger }

func (s slow) SelectLines(ctx context.Context, no campaign.RunNo, f campaign.LineFilter, from int64, n int) (
	lines []campaign.Line, next int64, err error,
) {
	lines, next, err = s.Ledger.SelectLines(ctx, no, f, from, n)
	if end := from + 5000; (next == 0 || next > end) && end < 3*campaign.SegmentSize { // next: the ledger took long
		lines, next = slices.DeleteFunc(lines, func(l campaign.Line) bool { return l.Seq >= end }), end
	}
	time.Sleep(25 * time.Millisecond)
	return lines, next, err
}

// The second row is read by the first page, beyond the whole segments that the page ends with.
func TestAPartThatIsReadLongHasSeveralPages(t *testing.T) {
	d, _ := session(t)
	const ann = 2348031234567
	numbers := make([]int64, 3*campaign.SegmentSize)
	for i := range numbers {
		numbers[i] = 2348030000000 + int64(i)
	}
	for _, seq := range []int{10, campaign.SegmentSize + 4, 2*campaign.SegmentSize + 8} {
		numbers[seq] = ann
	}
	r := runOf(t, d.Ledger, "conn_1", numbers...)
	fast := d.Ledger
	d.Ledger = slow{fast}
	all := story(t, d, "+2348031234567", 100)
	want := []string{"spring-1 row 12 +2348031234567 queued", "spring-1 row 4102 +2348031234567 skipped",
		"spring-1 row 8202 +2348031234567 skipped"}
	if d := cmp.Diff(want, all); d != "" {
		t.Errorf("rows of %s (-want +got):\n%s", r.ID(), d)
	}
	page, next, err := d.Person(t.Context(), "+2348031234567", 0, 100)
	if err != nil || len(page) != 1 || next == 0 {
		t.Fatalf("first page: got %d rows, next %d (%v), want one row and more pages", len(page), next, err)
	}
	d.Ledger = fast
	if kept, err := fast.KeepNumbers(t.Context()); !kept || err != nil {
		t.Fatalf("got %v, %v; want the numbers of the run kept", kept, err)
	}
	page, next, err = d.Person(t.Context(), "+2348031234567", next, 100)
	if err != nil || len(page) != 2 {
		t.Errorf("second page, with the numbers kept since: got %d rows, next %d (%v), want the two others", len(page), next, err)
	}
}
