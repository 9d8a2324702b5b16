package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"campaignd/internal/sandbox"
	"campaignd/reporting"
)

func TestReportForExcelHasTheListsDelimiter(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", strings.ReplaceAll(listOf(2), ",", ";"))
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	r := d.want(0, "report", "latest", "--excel")
	wantIn(t, "report --excel", r.stdout, "\uFEFFrow;to;connection;")
	wantIn(t, "report --excel", r.stdout, "\r\n2;\"=\"\"+2348031200001\"\"\";conn_1;")
	if err := os.Remove(d.path("list.csv")); err != nil {
		t.Fatal(err)
	}
	r = d.want(0, "report", "latest", "--excel", "--format", "csv")
	wantIn(t, "report without the list", r.stdout, "\uFEFFrow;to;connection;")
	wantIn(t, "report as two formats", d.want(2, "report", "latest", "--excel", "--format", "json").stderr,
		"--excel writes CSV, not json; leave out --format")
}

// Both counts of a run are the same. A second run of the template is the cause of a difference, and
// a service that is away or does not count costs the report nothing.
func TestAReportIsComparedWithTheService(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	compared := func(args ...string) reporting.Comparison {
		t.Helper()
		var r reporting.Report
		text := d.want(0, append([]string{"report", "orders-1", "--against-service", "-o", "json"}, args...)...).stdout
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.Service == nil {
			t.Fatalf("got %+v, %v; want a comparison", r, err)
		}
		return *r.Service
	}
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	all := reporting.Counted{Sent: 40, Delivered: 40, Read: 40}
	sum := func(c reporting.Comparison, of func(reporting.ComparedDay) reporting.Counted) (n reporting.Counted) {
		for _, d := range c.Days { // one, or two at midnight
			n.Sent, n.Delivered, n.Read = n.Sent+of(d).Sent, n.Delivered+of(d).Delivered, n.Read+of(d).Read
		}
		return n
	}
	ours := func(d reporting.ComparedDay) reporting.Counted { return d.Ours }
	theirs := func(d reporting.ComparedDay) reporting.Counted { return d.Theirs }
	differ := func(d reporting.ComparedDay) reporting.Counted { return d.Difference }
	if c := compared(); len(c.Notes) != 0 || sum(c, ours) != all || sum(c, theirs) != all || c.Days[0].Sentence != "" {
		t.Errorf("got %+v, want %+v on both sides", c, all)
	}
	wantIn(t, "the table", d.want(0, "report", "latest", "--against-service").stdout, "template order_update en_US by day (UTC)",
		"same  both sides count the same")
	d.want(0, "run", d.path("c.yaml"), "--new", "--settle", "1m")
	c := compared()
	if !strings.HasSuffix(c.Days[len(c.Days)-1].Sentence, "other runs sent it too: orders-2") || sum(c, differ) != all {
		t.Errorf("beside another run: got %+v, want %+v more, and orders-2 as the cause", c, all)
	}
	d.write("campaignd.yaml", "service: {assumed: {paths: {template_analytics: '/api/v1/absent/{id}'}}}\n")
	c = compared("--config", d.path("campaignd.yaml"))
	if len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "does not offer template_analytics") {
		t.Errorf("a service that does not count: got %+v, want a note", c)
	}
	d.env["CAMPAIGND_SERVICE_BASE_URL"] = "http://" + freePort(t)
	if c := compared(); len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "connection refused") {
		t.Errorf("a service that is away: got %+v, want a note", c)
	}
	delete(d.env, "CAMPAIGND_SERVICE_API_KEY")
	if c := compared(); len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "no service is configured") {
		t.Errorf("no service: got %+v, want a note", c)
	}
	wantIn(t, "as CSV", d.want(2, "report", "latest", "--against-service", "-o", "csv").stderr, "--against-service compares totals")
}

func TestNothingIsComparedOverTheCloudAPI(t *testing.T) {
	t.Parallel()
	d := overCloud(t, newFixture(t, func(o *sandbox.Options) { o.API = sandbox.APICloud }))
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	wantIn(t, "the report", d.want(0, "report", "latest", "--against-service").stdout, "read      40",
		"conn_1: it is reached over the Cloud API, where this comparison is not offered")
}

func TestReportIsWrittenAsAPage(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", listOf(3))
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.says(0, "", "", "report", "latest", "--html", d.path("r.html"))
	page := d.text("r.html")
	wantIn(t, "the page", page, "<strong>3 people got the message</strong>", "The audit balances: every row has exactly one outcome.",
		"Nigeria", "conn_1")
	if strings.Contains(page, "2348031200") {
		t.Error("got a phone number in the page, want none")
	}
	d.says(0, "", "", "report", "latest", "--html", d.path("r.html")) // it replaces its own
	wantIn(t, "over the list", d.want(2, "report", "latest", "--html", d.path("list.csv")).stderr, "list.csv exists; name another file")
	wantIn(t, "to the output", d.want(0, "report", "latest", "--html", "-", "--audit").stdout, "<!doctype html>")
	wantIn(t, "in two forms", d.want(2, "report", "latest", "--html", "r.html", "--excel").stderr, "cannot be combined with --format, --excel")
	wantIn(t, "--audit alone", d.want(2, "report", "latest", "--audit").stderr, "`campaignd audit` prints the audit alone")
}

// A part of a report must not look like the whole.
func TestAReportThatIsNotWholeIsRemoved(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		return // only Linux has /dev/full
	}
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"))
	page := d.path("report.html")
	if err := os.Symlink("/dev/full", page); err != nil {
		t.Fatal(err)
	}
	wantIn(t, "a full disk", d.want(1, "report", "latest", "--html", page).stderr, "no space left")
	if _, err := os.Lstat(page); !os.IsNotExist(err) {
		t.Errorf("got %v, want no file", err)
	}
}
