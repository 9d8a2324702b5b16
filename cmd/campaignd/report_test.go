package main

import (
	"os"
	"strings"
	"testing"
)

func TestReportForExcelHasTheListsDelimiter(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", strings.ReplaceAll(listOf(2), ",", ";"))
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
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
