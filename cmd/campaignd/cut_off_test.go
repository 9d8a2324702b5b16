//go:build long

package main

import (
	"bytes"
	"strings"
	"testing"
)

// A script must see that a result is not complete, after whichever write it is cut off.
func TestAResultThatIsCutOffIsExitOne(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", listOf(3)+strings.Repeat("0803,X,A\n", 60)) // more than a buffer holds
	d.folder("campaigns")
	d.write("campaigns/c.yaml", campaignFile+"schedule: {cron: \"0 9 * * *\"}\n")
	c := d.path("c.yaml")
	d.want(0, "run", c, "--settle", "1m")
	d.want(0, "suppressions", "add", "+2348031234567", "+2348031234568")
	d.want(0, "holds", "add", "connection", "conn_1")
	d.want(0, "holds", "add", "account", "conn_1")
	for _, args := range [][]string{
		{"run", c}, {"runs"}, {"report", "1"}, {"report", "1", "--format", "csv"}, {"audit", "1"}, {"why", "1"},
		{"resolve", "1"}, {"resolve", "1", "--unknown", "keep"},
		{"check", c}, {"preview", c}, {"schedule"}, {"config", "show"}, {"suppressions", "export"}, {"suppressions", "add", "+2348031234567"},
		{"suppressions", "remove", "+2348031234569"}, {"suppressions", "import", d.write("s.csv", "to\n+2348031234567\n")},
		{"holds"}, {"suppressions", "show", "+2348031234567"}, {"why", "conn_1"}, {"limits", "1"}, {"keys", "list"}, {"actions"}, {"drops"},
		{"ledger", "quarantine"}, {"ledger", "quarantine", "--dry-run", "--force", "--lost", "1s"},
	} {
		for n := 0; ; n++ {
			disk := &fills{left: n}
			var stderr bytes.Buffer
			code := run(t.Context(), args, strings.NewReader(""), disk, &stderr, d.env)
			if disk.left >= 0 {
				if code != 0 || n == 0 {
					t.Errorf("campaignd %s: got %d with %q after %d writes, want 0 after one or more",
						strings.Join(args, " "), code, stderr.String(), n)
				}
				break
			}
			if code != 1 || !strings.Contains(stderr.String(), errFull.Error()) {
				t.Errorf("campaignd %s: got %d with %q when write %d failed, want 1 with %q",
					strings.Join(args, " "), code, stderr.String(), n+1, errFull)
			}
		}
	}
}
