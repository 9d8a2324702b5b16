package main

import (
	"fmt"
	"html"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/sandbox"
	"campaignd/reporting"
)

// homes are the countries of a list, as its own column has them, with the beginning of their
// numbers and how many digits follow. The last one has no number.
var homes = []struct {
	code, name, prefix string
	digits             int
}{{"NG", "Nigeria", "+23480312", 5}, {"US", "United States", "+12025", 6}, {"GB", "Britain (UK)", "+447400", 6},
	{"DE", "Germany", "+4915112", 6}, {"", "", "nobody ", 1}}

// recountedList has numbers of all homes; one row in 40 has the number of the row before.
func recountedList(rows int) string {
	var b strings.Builder
	b.WriteString("phone,first_name,order,home\n")
	for i := range rows {
		n := i - i%40/39
		h := homes[n%7%len(homes)]
		fmt.Fprintf(&b, "%s%0*d,Name %d,A-%d,%s\n", h.prefix, h.digits, n, i, i, h.code)
	}
	return b.String()
}

var (
	tableRow  = regexp.MustCompile(`(?s)<tr[ >].*?</tr>`)
	tableCell = regexp.MustCompile(`(?s)<t[hd][ >].*?</t[hd]>`)
	markup    = regexp.MustCompile(`<[^>]*>`)
)

// cellsOf returns the rows of the tables of a page by their first cell.
func cellsOf(page string) map[string][]string {
	all := map[string][]string{}
	for _, row := range tableRow.FindAllString(page, -1) {
		var cells []string
		for _, c := range tableCell.FindAllString(row, -1) {
			cells = append(cells, strings.TrimSpace(html.UnescapeString(markup.ReplaceAllString(c, ""))))
		}
		if len(cells) > 0 {
			all[cells[0]] = cells[1:]
		}
	}
	return all
}

// The export, the report, the series of the API and the HTML report have the same figures, which
// are counted here from the text of the export.
func TestAnExportRecountsEachFigure(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) {
		o.Statuses = sandbox.StatusProfile{Sent: sandbox.Delay{Median: 20 * time.Millisecond},
			Read:      sandbox.Delay{Median: 200 * time.Millisecond},
			Delivered: sandbox.Delay{Median: 150 * time.Millisecond, Sigma: 0.8}}
		o.Faults.TooMany, o.Faults.RetryAfter, o.Faults.LostAfter, o.Faults.Doubled = 0.02, time.Second, 0.01, 0.05
		o.Faults.Refusals = []sandbox.Refusal{{Code: 131026, Share: 0.05}}
		o.Faults.FailLater = []sandbox.LaterFailure{{Failure: sandbox.Failure{Code: 131049, Share: 0.1,
			After: sandbox.Delay{Median: 100 * time.Millisecond}}}}
	})
	d.write("c.yaml", strings.Replace(campaignFile, "[conn_1]", "[conn_1, conn_2]", 1))
	d.write("list.csv", recountedList(500))
	d.want(0, "suppressions", "add", "+2348031200007", "+2348031200014", "+2348031200021")
	stop := d.serving()
	defer stop()
	d.want(0, "launch", d.path("c.yaml"))
	d.eventually("the run is finished", func() bool { return d.runs()[0].State == "finished" })
	access, err := client.ReadAccess(d.path("campaignd.db.api"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := access.Client()
	if err != nil {
		t.Fatal(err)
	}
	var report *reporting.Report
	var series resource.Series
	var o *oracle
	export := func() string { return d.want(0, "report", "latest", "--format", "csv").stdout }
	d.eventually("no status comes while the figures are read", func() bool {
		text := export()
		if report, err = c.Report(t.Context(), "latest"); err != nil {
			t.Fatal(err)
		}
		if series, err = c.Series(t.Context(), "latest", time.Minute); err != nil {
			t.Fatal(err)
		}
		d.want(0, "report", "latest", "--html", d.path("report.html"))
		o = recount(t, text)
		return export() == text && o.totals["in_doubt"]+o.totals["sent"]+o.totals["accepted"] == 0
	})
	sameTotals(t, o, report)
	sameSeries(t, o, &series)
	page, err := os.ReadFile(d.path("report.html"))
	if err != nil {
		t.Fatal(err)
	}
	samePage(t, o, cellsOf(string(page)))
	if len(o.numbers) < 3 || len(o.countries) != len(homes) || o.totals["failed"]*o.totals["refused"]*o.totals["skipped"] == 0 ||
		o.retried == 0 {
		t.Errorf("got %v of %v and %v with %d retried, want retries, failures, refusals and skips over 2 numbers and 4 countries",
			o.totals, o.numbers, o.countries, o.retried)
	}
}

func same[K comparable](t *testing.T, what string, got, want map[K]int64) {
	t.Helper()
	nothing := func(_ K, n int64) bool { return n == 0 }
	got, want = maps.Clone(got), maps.Clone(want)
	maps.DeleteFunc(got, nothing)
	maps.DeleteFunc(want, nothing)
	if !maps.Equal(got, want) {
		t.Errorf("%s: got %v, want %v as the export has it", what, got, want)
	}
}

func sameTotals(t *testing.T, o *oracle, r *reporting.Report) {
	t.Helper()
	totals, reasons := map[string]int64{}, map[string]int64{}
	for s, n := range r.Totals {
		totals[string(s)] = n
	}
	for status, of := range map[string]map[string]int64{"skipped": r.Skipped, "failed": r.Failed, "refused": r.Refused} {
		for reason, n := range of {
			reasons[status+" "+reason] = n
		}
	}
	same(t, "totals", totals, o.totals)
	same(t, "reasons", reasons, o.reasons)
	all, f := o.stages["all"], r.Funnel
	got := counts{rows: r.Rows, skipped: r.Rows - f.Sendable, refused: totals["refused"], accepted: f.Accepted, sent: f.Sent,
		delivered: f.Delivered, read: f.Read, failed: f.Failed}
	if got != all {
		t.Errorf("funnel: got %+v, want %+v as the export has it", got, all)
	}
}

func sameSeries(t *testing.T, o *oracle, s *resource.Series) {
	t.Helper()
	numbers := map[string]map[string]int64{}
	for _, c := range s.Connections {
		numbers[c.Connection] = map[string]int64{}
		for status, n := range c.Totals {
			numbers[c.Connection][string(status)] += n
		}
	}
	for _, number := range slices.Sorted(maps.Keys(o.numbers)) {
		same(t, "number "+number, numbers[number], o.numbers[number])
	}
	countries := map[string]counts{}
	for _, c := range s.Countries {
		countries[c.Country] = counts{rows: c.Rows, skipped: c.Skipped, refused: c.Refused, accepted: c.Accepted, delivered: c.Delivered,
			read: c.Read, failed: c.Failed}
	}
	for home, want := range o.countries {
		if want.sent = 0; countries[home] != want {
			t.Errorf("country %q: got %+v, want %+v as the export has it", home, countries[home], want)
		}
	}
	points := map[time.Time]counts{}
	for _, p := range s.Points {
		points[p.At] = counts{accepted: p.Accepted, delivered: p.Delivered, read: p.Read, failed: p.Failed}
	}
	if !maps.Equal(points, o.points) {
		t.Errorf("series: got %+v, want %+v as the export has it", points, o.points)
	}
	var timed int64
	for _, b := range s.Delivery.Buckets {
		timed += b.N
	}
	if timed != int64(len(o.took)) {
		t.Errorf("got %d times of delivery, want %d", timed, len(o.took))
	}
	for p, got := range map[float64]int64{0.5: s.Delivery.P50, 0.9: s.Delivery.P90, 0.99: s.Delivery.P99} {
		if want := o.percentile(p).Milliseconds(); float64(got) < float64(want)/1.1-1 || float64(got) > float64(want)*1.1+1 {
			t.Errorf("p%g: got %d ms, want %d within a bucket of 10 %%", 100*p, got, want)
		}
	}
}

func samePage(t *testing.T, o *oracle, page map[string][]string) {
	t.Helper()
	want := map[string][]string{}
	for _, h := range homes {
		if c := o.countries[h.code]; c.rows > c.skipped {
			n := c.rows - c.skipped
			want[h.name] = []string{fmt.Sprint(n), percent(c.delivered, n), percent(c.failed+c.refused, n)}
		}
	}
	for number, totals := range o.numbers {
		if of := o.stages[number]; number != "" && of.accepted+of.refused > 0 {
			n := of.accepted + of.refused
			want[number] = []string{fmt.Sprint(n), percent(of.delivered, n), percent(totals["failed"]+totals["refused"], n)}
		}
	}
	all := o.stages["all"]
	sendable := all.rows - all.skipped
	for stage, n := range map[string][2]int64{"Sendable": {sendable, all.rows}, "Accepted": {all.accepted, sendable},
		"Sent": {all.sent, all.accepted}, "Delivered": {all.delivered, all.accepted}, "Read": {all.read, all.delivered}} {
		want[stage] = []string{fmt.Sprint(n[0]), percent(n[0], n[1])}
	}
	for reason, n := range o.reasons {
		if of, is := strings.CutPrefix(reason, "skipped "); is {
			sentence := campaign.SkipReason(of).Sentence()
			want[strings.ToUpper(sentence[:1])+sentence[1:]] = []string{fmt.Sprint(n)}
		}
	}
	for first, cells := range want {
		got := slices.DeleteFunc(slices.Clone(page[first]), func(s string) bool { return s == "" })
		if len(got) < len(cells) || !slices.Equal(got[:len(cells)], cells) {
			t.Errorf("the page's row %q: got %q, want it to begin with %q as the export has it", first, page[first], cells)
		}
	}
}
