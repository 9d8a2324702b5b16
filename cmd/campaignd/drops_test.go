package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"campaignd/internal/client/resource"
)

// drops reads what `campaignd drops` lists, the newest of each name.
func (d *fixture) drops() map[string]resource.Drop {
	d.t.Helper()
	var all []resource.Drop
	if err := json.Unmarshal([]byte(d.want(0, "drops", "-o", "json").stdout), &all); err != nil {
		d.t.Fatal(err)
	}
	by := map[string]resource.Drop{}
	for _, f := range all {
		if _, newer := by[f.Key]; !newer {
			by[f.Key] = f
		}
	}
	return by
}

// watching is a fixture whose folder inbox is watched for the campaign orders.
func watching(t *testing.T) *fixture {
	t.Helper()
	d := newFixture(t, nil)
	for _, dir := range []string{"inbox", "campaigns"} {
		if err := os.Mkdir(d.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.env["CAMPAIGND_DROPS"] = "[{bucket: 'file://" + d.path("inbox") + "', campaign: orders}]"
	return d
}

// put puts a file into the inbox at once, as a copy that is renamed.
func (d *fixture) put(name, text string) {
	d.t.Helper()
	if err := os.Rename(d.write("dropped", text), d.path("inbox/"+name)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fixture) text(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(d.path(name))
	if err != nil {
		d.t.Error(err)
	}
	return string(text)
}

func TestADroppedFileIsSentAndReported(t *testing.T) {
	t.Parallel()
	d := watching(t)
	d.put("list.csv", listOf(40)+"nobody,A,B\n")
	stop := d.serving()
	d.eventually("the file waits for its campaign", func() bool {
		return strings.Contains(d.drops()["list.csv"].Detail, "has the campaign orders")
	})
	d.write("campaigns/orders.yaml", campaignFile)
	d.eventually("the results are complete", func() bool { return d.drops()["list.csv"].State == "settled" && d.read("list.csv", 40) })
	f := d.drops()["list.csv"]
	if f.Run != "orders-1" || f.Place != "done/list.csv" || f.Campaign != "orders" || len(f.SHA256) != 64 || f.TakenAt.IsZero() {
		t.Errorf("got %+v, want orders-1 and done/list.csv", f)
	}
	wantIn(t, "accepted.json", d.text("inbox/done/list.csv.accepted.json"), `"run": "orders-1"`, `"rows": 41`)
	wantIn(t, "rejected.csv", d.text("inbox/done/list.csv.rejected.csv"),
		"phone,first_name,order,reject_line,reject_reason,reject_note\n", "nobody,A,B,42,invalid_phone,")
	wantIn(t, "report.html", d.text("inbox/done/list.csv.report.html"), "<strong>40 people got the message</strong>")
	if got := d.text("inbox/done/list.csv.report.csv"); strings.Count(got, "\n") != 42 || strings.Count(got, ",read,") != 40 {
		t.Errorf("report.csv: got\n%s\nwant a header, 40 rows that are read, and one that is skipped", got)
	}
	if got := d.text("inbox/done/list.csv"); got != listOf(40)+"nobody,A,B\n" {
		t.Errorf("the moved file: got %q, want what was dropped", got)
	}

	d.put("again.csv", listOf(40)+"nobody,A,B\n")
	d.put("bad.csv", "name,order\nA,B\n")
	others := func(list, digits string) string { return strings.ReplaceAll(list, "+23480312", digits) }
	d.put("list.csv", others(listOf(3), "+23480313")) // its name is taken in done/
	d.put("side.csv.yaml", "recipients: {columns: {to: mobile}}\n")
	d.put("side.csv", others(strings.ReplaceAll(listOf(2), "phone", "mobile"), "+23480314"))
	d.put("wrong.csv.yaml", "policies: {approval: false}\n")
	d.put("wrong.csv", listOf(4))
	d.put("totals.csv.yaml", "recipients: {skip_last: 1}\n")
	d.put("totals.csv", others(listOf(3), "+23480315")) // without totals
	d.eventually("all are taken", func() bool {
		all := d.drops()
		return all["bad.csv"].State == "rejected" && all["again.csv"].State == "rejected" && all["wrong.csv"].State == "rejected" &&
			all["totals.csv"].State == "rejected" && d.read("side.csv", 2) && d.read("list-2.csv", 3)
	})
	wantIn(t, "the same list again", d.text("inbox/rejected/again.csv.report.json"), `"error": "duplicate"`, "the list of orders-1, launched")
	wantIn(t, "a list without a number", d.text("inbox/rejected/bad.csv.report.json"), `"error": "invalid_list"`, "phone",
		"its columns are \\\"name\\\", \\\"order\\\"", `"remedy": "`)
	wantIn(t, "a sidecar that overrides too much", d.text("inbox/rejected/wrong.csv.report.json"), `"error": "invalid_sidecar"`,
		`"where": "wrong.csv.yaml:1:1"`)
	wantIn(t, "a list whose last recipient would be left out", d.text("inbox/rejected/totals.csv.report.json"), `"error": "invalid_list"`,
		`"where": "totals.csv:4"`, "recipients.skip_last leaves out line 4, which has a phone number")
	if got := d.accepted(); got != 45 {
		t.Errorf("the sandbox accepted %d messages, want 40 + 2 + 3", got)
	}
	stop()
	wantIn(t, "the table", d.want(0, "drops").stdout, "FILE ", "bad.csv ", " rejected ", " orders-3 ", "done/list-2.csv")
	wantIn(t, "runs", d.want(0, "runs").stdout, "  side.csv\n")
}

// An operator who corrects the rejected rows and drops them again, or saves the list again, sends
// to nobody twice.
func TestACorrectedOrReSavedDropSendsOnce(t *testing.T) {
	t.Parallel()
	d := watching(t)
	d.write("campaigns/orders.yaml", campaignFile)
	defer d.serving()()
	list := listOf(3) + "+2348031200001,Name 1,A-1\n080312,Nia,A-7\n"
	d.put("list.csv", list)
	d.eventually("the list is sent", func() bool { return d.read("list.csv", 3) })
	corrected := strings.Replace(d.text("inbox/done/list.csv.rejected.csv"), "080312,", "+2348031200099,", 1)
	d.put("corrected.csv", corrected)
	d.put("re-saved.csv", strings.ReplaceAll(list, "\n", "\r\n"))
	d.eventually("both are taken", func() bool { return d.drops()["re-saved.csv"].State == "rejected" && d.read("corrected.csv", 1) })
	wantIn(t, "the list that was saved again", d.text("inbox/rejected/re-saved.csv.report.json"), `"error": "sent_before"`, `"run": "orders-`,
		`"both": `, "again: true")
	wantIn(t, "drops", d.drops()["re-saved.csv"].Detail, "of this list: ", "in both", "again: true in its sidecar")
	if got := d.accepted(); got != 4 {
		t.Errorf("the sandbox accepted %d messages, want 3 + 1", got)
	}
	d.put("weekly.csv.yaml", "again: true\n")
	d.put("weekly.csv", strings.ReplaceAll(list, "\n", "\r\n"))
	d.eventually("with again: true it is sent", func() bool { return d.read("weekly.csv", 3) })
}

// read reports whether the report beside a file in done/ says that so many rows are read.
func (d *fixture) read(name string, rows int64) bool {
	d.t.Helper()
	text, err := os.ReadFile(d.path("inbox/done/" + name + ".report.json"))
	var r reportFacts
	return err == nil && json.Unmarshal(text, &r) == nil && r.Totals["read"] == rows
}

// Nobody sees what a launch warns of when its list was dropped, so the log has it: people who got
// the template from another campaign, a deadline that is too early, and a time to come.
func TestALaunchOfADropLogsItsWarnings(t *testing.T) {
	t.Parallel()
	d := watching(t)
	list := d.write("orders.csv", listOf(40))
	other := d.write("other.yaml", strings.Replace(marketingFile, "name: orders", "name: others", 1))
	d.want(0, "run", other, "--recipients", list, "--settle", "1m")
	d.write("campaigns/orders.yaml", marketingFile+"limits: {rate: 0.5, deadline: 1m}\nschedule: {at: '2099-01-02T09:00'}\n")
	d.put("list.csv", d.text("orders.csv"))
	log := d.serveUntil(func() bool { return len(d.drops()) > 0 && d.drops()["list.csv"].Run != "" })
	wantIn(t, "the log", log, "40 of 40 got this template since ", "from others-1", "kind=deadline",
		"this launch is now, and schedule.at sends to its list too, at 2099-01-02 09:00:00 UTC")
}

// A list lay in the folder while the ledger went back in time. Nobody knows whether it was
// launched, so a person decides.
func TestADropOfTheLostTimeWaitsForAPerson(t *testing.T) {
	t.Parallel()
	d := watching(t)
	d.serving()()
	d.write("campaigns/orders.yaml", campaignFile)
	d.put("list.csv", listOf(3))
	d.want(0, "ledger", "quarantine", "--force", "--lost", "1m")
	defer d.serving()()
	d.eventually("the list is rejected", func() bool { return d.drops()["list.csv"].State == "rejected" })
	wantIn(t, "its report", d.text("inbox/rejected/list.csv.report.json"), `"error": "lost_time"`, "before the quarantine of 2")
	d.put("copy.csv", listOf(3))
	d.eventually("a copy with a new time is sent", func() bool { return d.read("copy.csv", 3) })
	if got := d.accepted(); got != 3 {
		t.Errorf("the sandbox accepted %d messages, want those of the copy, 3", got)
	}
}
