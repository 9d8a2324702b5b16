package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/client/resource"
)

func TestLaunchGivesAListToTheServeOfItsLedger(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	r := d.want(1, "launch", d.path("c.yaml"))
	wantIn(t, "without a serve", r.stderr, "campaignd: no `campaignd serve` takes launches for the ledger "+d.path("campaignd.db"),
		"`campaignd run`")
	stop := d.serving()
	if info, err := os.Stat(d.path("campaignd.db.api")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the key: got %v (%v), want mode 0600", info.Mode(), err)
	}
	wantIn(t, "launch", d.want(0, "launch", d.path("c.yaml")).stdout, "orders-1: 40 rows; `campaignd why orders-1`")
	d.eventually("the run is finished", func() bool { return d.runs()[0].State == "finished" })
	var again resource.Launched
	if err := json.Unmarshal([]byte(d.want(0, "launch", d.path("c.yaml"), "-o", "json").stdout), &again); err != nil {
		t.Fatal(err)
	}
	if !again.Ended || again.Run.ID != "orders-1" || d.accepted() != 40 {
		t.Errorf("the same list again: got %+v with %d messages, want orders-1, which has ended, with 40", again, d.accepted())
	}
	wantIn(t, "the same list again", d.want(0, "launch", d.path("c.yaml")).stdout,
		"orders-1 had ended before (finished, 40 rows), so nothing is sent")

	if got := d.want(0, "runs").stdout; !strings.HasSuffix(got, "  list.csv\n") {
		t.Errorf("runs: got %q, want the list by its own name at the end", got)
	}

	d.write("c.yaml", campaignFile+"policies: {approval: true}\nlimits: {rate: 0.01, deadline: 1h}\n")
	d.write("list.csv", listOf(41))
	wantIn(t, "an edited list", d.want(2, "launch", d.path("c.yaml")).stderr,
		"campaignd: orders-1 of ", " is finished and had numbers of this list: 1 row added; 40 numbers are in both\ncampaignd: --new sends")
	r = d.want(0, "launch", d.path("c.yaml"), "--new")
	wantIn(t, "approval", r.stdout, "orders-2: 41 rows; `campaignd approve orders-2`")
	wantIn(t, "a deadline that cannot be met", r.stderr, "warning: limits.deadline: 1h after the launch cannot be met")
	wantIn(t, "an unfinished run", d.want(0, "launch", d.path("c.yaml")).stdout, "orders-2")
	wantIn(t, "--new of an unfinished list", d.want(2, "launch", d.path("c.yaml"), "--new").stderr,
		"campaignd: orders-2 of a moment ago has this list and is unfinished", "\ncampaignd: the same command without --new continues it")
	d.write("list.csv", listOf(42))
	wantIn(t, "another list", d.want(2, "launch", d.path("c.yaml")).stderr, "1 row added; 41 numbers are in both\n")
	r = d.want(0, "launch", d.path("c.yaml"), "--new")
	wantIn(t, "--new of another list", r.stderr, "warning: orders-2 is unfinished and has another list: 1 row added; 41 numbers are in both")
	d.write("list.csv", "phone,first_name,order\nnobody,A,B\n")
	wantIn(t, "a list without a number", d.want(2, "launch", d.path("c.yaml"), "--new").stderr, "list.csv: its only row cannot be sent")
	d.write("list.csv", listOf(3))
	d.write("c.yaml", strings.Replace(campaignFile, `, "{{ .order }}"`, "", 1))
	wantIn(t, "a value too few", d.want(2, "launch", d.path("c.yaml"), "--new").stderr, "campaignd: c.yaml:3:", "template.body")

	stop()
	if _, err := os.Stat(d.path("campaignd.db.api")); !os.IsNotExist(err) {
		t.Errorf("the file with the key after the end: got %v, want that it does not exist", err)
	}
	if left, err := filepath.Glob(d.path("campaignd.db.uploads/*/*.csv")); err != nil || len(left) > 0 {
		t.Errorf("got the uploaded lists %v (%v), want none once they are imported", left, err)
	}
}

// A header file is uploaded with the list, and the error of a faulty campaign has the campaign's
// own path.
func TestLaunchSendsTheHeaderFileOfACampaign(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if err := os.Mkdir(d.path("media"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("media/banner.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", 1000))
	file := func(header string) string {
		return d.write("banner.yaml", `name: banner
connections: [conn_1]
template:
  name: spring_sale_banner
  language: en_US
  header: {image: {file: `+header+`}}
  body: ["{{ .first_name }}", "{{ .order }}"]
  buttons: [{type: url, text: "{{ .order }}"}]
recipients: {file: list.csv, columns: {to: phone}}
`)
	}
	defer d.serving()()
	for _, outside := range []string{"../banner.png", d.path("media/banner.png")} {
		d.write("../banner.png", "x")
		wantIn(t, outside, d.want(2, "launch", file(outside)).stderr, "is not in the folder of the campaign file or below it")
	}
	d.want(0, "launch", file("media/banner.png"))
	d.eventually("the run is finished", func() bool { return d.runs()[0].State == "finished" })
	if n := len(d.truth().Uploads); n != 1 || d.accepted() != 40 {
		t.Errorf("got %d uploads and %d messages, want 1 and 40", n, d.accepted())
	}
	bad := d.write("bad.yaml", "nme: x\n")
	wantIn(t, "a faulty campaign", d.want(2, "launch", bad).stderr, bad+":1:")
	wantIn(t, "a list that is missing", d.want(2, "launch", d.path("c.yaml"), "--recipients", d.path("none.csv")).stderr, d.path("none.csv"))
}

// A new name of the campaign does not hide that its people got the template: check, run and launch
// stop, and a person chooses.
func TestPeopleWhoGotTheTemplateStopALaunch(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("c.yaml", marketingFile)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	const again, ways = "40 of 40 got this template since ", "--leave-out-sent sends to the others only, and --send-again to all of them"
	if r := d.want(0, "check", d.path("c.yaml")); strings.Contains(r.stdout, again) {
		t.Errorf("the same campaign: got %q, want no warning", r.stdout)
	}
	renamed := d.write("renamed.yaml",
		strings.Replace(marketingFile, "name: orders", "name: orders-b", 1)+"schedule: {at: '2026-01-02T09:00'}\n")
	r := d.want(2, "check", renamed, "-o", "json")
	wantIn(t, "a renamed campaign", r.stdout, again, "schedule.at: 2026-01-02T09:00 in UTC has passed, so it never fires", `"people": 40`)
	wantIn(t, "its run", d.want(2, "run", renamed, "--settle", "1m").stderr, again, ", from orders-1; nothing was sent", ways)
	if n := d.accepted(); n != 40 {
		t.Errorf("after the refusal: got %d messages, want 40", n)
	}
	longer := d.write("longer.csv", listOf(42))
	wantIn(t, "without them", d.want(0, "run", renamed, "--recipients", longer, "--leave-out-sent", "--settle", "1m").stdout, "sent_before")
	if n := d.accepted(); n != 42 {
		t.Errorf("after a run that leaves them out: got %d messages, want 42", n)
	}
	stop := d.serving()
	wantIn(t, "a launch", d.want(2, "launch", renamed).stderr, again, ways)
	d.want(0, "launch", renamed, "--send-again")
	d.eventually("the run is finished", func() bool { return d.runs()[0].State == "finished" })
	stop()
	if n := d.accepted(); n != 82 {
		t.Errorf("sent again: got %d messages, want 82", n)
	}
	if r := d.want(0, "check", d.path("c.yaml")); strings.Contains(r.stdout, again) {
		t.Errorf("the first campaign, which is reported again: got %q, want no warning", r.stdout)
	}
}

// A launch by hand is not instead of a time to come: both would send to everybody, so the list that
// the schedule sends is refused, and another one is warned of.
func TestALaunchBeforeItsScheduleIsRefused(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if err := os.Mkdir(d.path("campaigns"), 0o700); err != nil {
		t.Fatal(err)
	}
	list := d.write("campaigns/list.csv", listOf(2))
	scheduled := d.write("campaigns/o.yaml", campaignFile+"schedule: {at: '2099-01-02T09:00'}\n")
	copied := d.write("copy.csv", listOf(2))
	refused := []string{
		"o.yaml sends to this list at 2099-01-02 09:00:00 UTC (schedule.at)",
		"\ncampaignd: --new sends now too; to send only now, remove that file or its schedule first",
	}
	const too = "this launch is now, and schedule.at sends to its list too, at 2099-01-02 09:00:00 UTC"
	wantIn(t, "run", d.want(2, "run", scheduled).stderr, refused...)
	wantIn(t, "run of a copy", d.want(2, "run", d.path("c.yaml"), "--recipients", copied).stderr, refused...)
	wantIn(t, "check", d.want(0, "check", scheduled).stdout, "`run` refuses this list until then, and --new sends now too")
	twin := d.write("campaigns/a.yaml", strings.Replace(campaignFile, "list.csv", "none.csv", 1)+"schedule: {at: '2099-01-02T08:00'}\n")
	wantIn(t, "run beside a file of the same name", d.want(2, "run", scheduled).stderr, refused...)
	if err := os.Remove(twin); err != nil {
		t.Fatal(err)
	}
	stop := d.serving()
	wantIn(t, "launch", d.want(2, "launch", scheduled).stderr, refused...)
	stop()
	if r := d.want(0, "runs"); strings.Contains(r.stdout, "orders-1") {
		t.Errorf("after refusals: got %s, want no run", r.stdout)
	}
	if sent := d.accepted(); sent != 0 {
		t.Errorf("after refusals: %d messages were sent, want 0", sent)
	}
	wantIn(t, "run --new", d.want(0, "run", scheduled, "--new", "--settle", "1m").stderr, too)
	other := d.write("other.csv", strings.ReplaceAll(listOf(2), "+23480", "+23481"))
	wantIn(t, "run of another list", d.want(0, "run", scheduled, "--recipients", other, "--settle", "1m").stderr, too)
	d.write("campaigns/list.csv", listOf(4))
	d.write("campaigns/o.yaml", campaignFile+"schedule: {cron: '0 9 * * *'}\n")
	r := d.want(0, "run", d.path("c.yaml"), "--recipients", list, "--new", "--settle", "1m")
	if strings.Contains(r.stderr, "sends to its list too") {
		t.Errorf("a campaign that recurs: got %q, want no warning", r.stderr)
	}
}
