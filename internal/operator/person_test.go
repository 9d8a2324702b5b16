package operator_test

import (
	"context"
	"fmt"
	"testing"

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
	for i, n := range numbers {
		rows = append(rows, campaign.Delivery{Seq: int64(i), Row: int64(i + 2), Key: n, To: fmt.Sprintf("+%d", n)})
	}
	n := int64(len(rows))
	if err := l.AppendRows(t.Context(), r.No, 0, rows, []campaign.Segment{{Run: r.No, Hi: n}}); err != nil {
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
