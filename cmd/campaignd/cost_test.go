package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/sandbox"
	"campaignd/reporting"

	"github.com/google/go-cmp/cmp"
)

// The report, each row of the CSV and the API count the same bill: three markets, two currencies, a
// market without a rate, and statuses that come twice. The sums are by hand.
func TestTheBillIsTheSameInEveryReport(t *testing.T) {
	t.Parallel()
	d := overCloud(t, newFixture(t, func(o *sandbox.Options) {
		o.API, o.Faults.Doubled = sandbox.APICloud, 1
	}))
	prices := d.write("rates.csv", "market,category,currency,rate,from\nDE,utility,EUR,0.0456,2020-01-01\nNG,utility,USD,0.0067,2020-01-01\n"+
		"NG,utility,USD,0.5,2999-01-01\n")
	d.write("campaignd.yaml", d.text("campaignd.yaml")+"  prices: "+prices+"\n")
	d.write("list.csv", "phone,first_name,order,market\n+4915112345678,Ada,A-1,north\n+4915112345679,Ben,A-2,north\n"+
		"+2348031234567,Chi,A-3,south\n+237678120945,Dia,A-4,south\n+999,Eve,A-5,south\n")
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")

	stop := d.serving()
	defer stop()
	d.eventually("every status has come", func() bool { return d.report("latest").Totals["read"] == 4 })
	var told struct{ Cost reporting.Cost }
	if err := json.Unmarshal([]byte(d.want(0, "report", "latest", "--format", "json").stdout), &told); err != nil {
		t.Fatal(err)
	}
	billed := func(market string, n int64) reporting.Billed {
		return reporting.Billed{Category: "utility", Type: "regular", Market: market, Messages: n, Delivered: n}
	}
	want := reporting.Cost{Messages: []reporting.Billed{billed("CM", 1), billed("DE", 2), billed("NG", 1)},
		Amounts: []reporting.Amount{{Currency: "EUR", Amount: "0.0912"}, {Currency: "USD", Amount: "0.0067"}}, Unrated: 1}
	if diff := cmp.Diff(want, told.Cost); diff != "" {
		t.Errorf("the report: -want +got:\n%s", diff)
	}
	wantIn(t, "the report", d.want(0, "report", "latest").stdout, "utility regular DE", "0.0912", "without a rate")

	records, err := csv.NewReader(strings.NewReader(d.want(0, "report", "latest", "--format", "csv").stdout)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, r := range records {
		rows = append(rows, strings.Join(r[13:18], " "))
	}
	wantRows := []string{"category type market cost currency", "utility regular DE 0.0456 EUR", "utility regular DE 0.0456 EUR",
		"utility regular NG 0.0067 USD", "utility regular CM  ", "    "} // the last row is not sent
	if diff := cmp.Diff(wantRows, rows); diff != "" {
		t.Errorf("the CSV: -want +got:\n%s", diff)
	}
	if own := records[0][len(records[0])-1]; own != "list_market" {
		t.Errorf("got the column %s for the list's own market, want list_market", own)
	}

	access, err := client.ReadAccess(d.path("campaignd.db.api"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(access.URL, access.Key, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.Report(t.Context(), "latest")
	if err != nil || report.Cost == nil || cmp.Diff(want, *report.Cost) != "" {
		t.Errorf("the API's report: got %+v, %v; want %+v", report, err, want)
	}
	page, err := c.Deliveries(t.Context(), "latest", resource.DeliveryFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range page.Deliveries {
		p := row.Price
		if p == nil {
			p = &resource.Price{}
		}
		if got := fmt.Sprintf("%s %s %s %s %s", p.Category, p.Type, p.Market, p.Cost, p.Currency); got != wantRows[row.Row] {
			t.Errorf("the API's row %d: got %q, want %q", row.Row, got, wantRows[row.Row])
		}
	}
}
