package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

func TestRejectsNeverOverwriteWhatIsRead(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	list := listOf(3) + "0803,X,A\n"
	d.write("list.csv", list)
	if err := os.Symlink(d.path("list.csv"), d.path("link.csv")); err != nil {
		t.Fatal(err)
	}
	for _, over := range []string{"list.csv", "link.csv", "c.yaml"} {
		wantIn(t, "--rejects "+over, d.want(2, "check", d.path("c.yaml"), "--rejects", d.path(over)).stderr, "name another file")
	}
	for name, want := range map[string]string{"list.csv": list, "c.yaml": campaignFile} {
		if text, err := os.ReadFile(d.path(name)); err != nil || string(text) != want {
			t.Errorf("%s after the check: got %q (%v), want %q", name, text, err, want)
		}
	}
}

func TestRejectsThatCannotBeWrittenFailTheCheck(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		return // only Linux has /dev/full
	}
	d := newFixture(t, nil)
	d.write("list.csv", listOf(3)+"0803,X,A\n") // the one bad row stays in the buffer until the end
	said := d.want(1, "check", d.path("c.yaml"), "--rejects", "/dev/full").stderr
	if strings.Count(said, "no space left") != 1 {
		t.Errorf("check --rejects /dev/full: got %q, want the cause once", said)
	}
}

func TestCheckListsEveryBadRowWithItsLine(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	bad := strings.Builder{}
	for i := range 60 {
		fmt.Fprintf(&bad, "080312%05d,X,A\n", i)
	}
	d.write("list.csv", listOf(3)+bad.String())
	r := d.want(0, "check", d.path("c.yaml"))
	for i := range 60 {
		wantIn(t, "check", r.stdout, fmt.Sprintf("line %d,", 5+i))
	}
	if strings.Contains(r.stdout, "more:") {
		t.Errorf("check: got %s, want every row", r.stdout)
	}
	var p launch.Preflight
	if err := json.Unmarshal([]byte(d.want(0, "check", d.path("c.yaml"), "-o", "json").stdout), &p); err != nil || len(p.Examples) != 60 {
		t.Errorf("check -o json: got %d rows (%v), want 60", len(p.Examples), err)
	}
}

// The template and the connection of a campaign may stand on a later page of the service's lists.
func TestCheckReadsEveryPageOfTheService(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) { o.PageSize = 1 })
	d.write("c.yaml", strings.Replace(campaignFile, "conn_1", "conn_3", 1))
	d.write("list.csv", listOf(3))
	var p launch.Preflight
	if err := json.Unmarshal([]byte(d.want(0, "check", d.path("c.yaml"), "-o", "json").stdout), &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Findings) != 0 || len(p.Connections) != 1 || p.Connections[0].Tier == "" {
		t.Errorf("got %+v and %+v, want conn_3 with its tier and no finding", p.Connections, p.Findings)
	}
}

func TestCheckNamesEachFaultInALineOfItsOwn(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("c.yaml", `name: orders
connections: [conn_1]
template: {name: spring_sale, language: en_US, body: ["{{ .first_name }}"]}
recipients: {file: list.csv, columns: {to: phone}}
`)
	r := d.want(2, "check", d.path("c.yaml"))
	lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("check: got %q, want two lines", lines)
	}
	wantIn(t, "first fault", lines[0], "the body of the template has 2 variables, and 1 is filled")
	wantIn(t, "second fault", lines[1], "the template has 1 button of type url with a variable, and 0 are filled")
	if strings.Contains(r.stderr, "more; see") {
		t.Errorf("check: got %s, want no reference to check", r.stderr)
	}
	if strings.Contains(r.stdout, "variables, and 1 is filled") {
		t.Errorf("standard output: got %s, want each fault on standard error only", r.stdout)
	}
}

func TestCheckTellsEachRemedyOnce(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("c.yaml", strings.Replace(campaignFile, "phone", "Téléphone", 1))
	d.write("list.csv", "Téléphone,first_name,order\n+2348031234567,A,1\n0803123,B,2\n0803124,C,3\n")
	r := d.want(0, "check", d.path("c.yaml"))
	text := strings.Join(strings.Fields(r.stdout), " ") // a long cell has several lines
	if got := strings.Count(text, "write + and the country code"); got != 1 {
		t.Errorf("the remedy is told %d times, want once:\n%s", got, r.stdout)
	}
	wantIn(t, "check", text, `line 4, column "Téléphone": "0803124" has no + and country code, so its country is unknown`)
}

func TestARefusalOfTheServiceIsShownWithItsRemedy(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", listOf(2))
	commands := [][]string{
		{"check", d.path("c.yaml")},
		{"preview", d.path("c.yaml")},
		{"test", d.path("c.yaml"), "--to", "+2348031299999"},
	}
	d.env["CAMPAIGND_SERVICE_API_KEY"] = "wrong"
	for _, args := range commands {
		if r := d.want(1, args...); !strings.Contains(r.stderr, "check service.api_key") || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s with a wrong key: got %q, want one line that names service.api_key", args[0], r.stderr)
		}
	}
	d.env["CAMPAIGND_SERVICE_BASE_URL"] = "http://" + freePort(t)
	for _, args := range commands {
		wantIn(t, args[0]+" without a service", d.want(1, args...).stderr, d.env["CAMPAIGND_SERVICE_BASE_URL"], "campaignd sandbox")
	}
}

func TestCheckSendsNothingAndNamesEveryBadRow(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", listOf(3)+"0803,X,A\n,Y,B\n")
	wantIn(t, "check", d.want(0, "check", d.path("c.yaml"), "--rejects", d.path("bad.csv")).stdout, "5 rows, 3 can be sent")
	d.want(2, "check", d.path("c.yaml"), "--strict")
	text, err := os.ReadFile(d.path("bad.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][3] != "reject_line" || rows[1][4] != "invalid_phone" || rows[2][4] != "missing_phone" {
		t.Errorf("got rejects %v (%v), want a header, an invalid_phone and a missing_phone", rows, err)
	}
	d.write("list.csv", "phone,first_name,order\n0803,X,A\n")
	wantIn(t, "check of a list without a sendable row", d.want(2, "check", d.path("c.yaml")).stderr, "its only row cannot be sent")
	if _, err := os.Stat(d.path("campaignd.db")); err == nil {
		t.Error("check made a ledger, want none")
	}
	if n := d.accepted(); n != 0 {
		t.Errorf("check sent %d messages, want none", n)
	}
}

func TestCheckFailsBadRowsWhenStrictOnly(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	strict := "campaignd: 1 row is at fault in " + d.path("list.csv") + " (--strict)\n"
	for _, tt := range []struct {
		list   string
		flags  []string
		code   int
		stderr string
	}{
		{listOf(3), nil, 0, ""},
		{listOf(3), []string{"--strict"}, 0, ""},
		{listOf(3) + "0803,X,A\n", nil, 0, ""},
		{listOf(3) + "0803,X,A\n", []string{"--strict"}, 2, strict},
		{listOf(3) + "0803,X,A\n", []string{"--strict", "--offline", "-o", "json"}, 2, strict},
		{"phone,first_name,order\n0803,X,A\n", nil, 2,
			"campaignd: " + d.path("list.csv") + ": its only row cannot be sent: invalid_phone, the phone number is " +
				"not a valid international number; `campaignd check` lists the rows\n"},
	} {
		d.write("list.csv", tt.list)
		r := d.run(append([]string{"check", d.path("c.yaml")}, tt.flags...)...)
		if r.code != tt.code || r.stderr != tt.stderr || r.stdout == "" {
			t.Errorf("check %v of %q: got %d with %q, want %d with %q and a result", tt.flags, tt.list, r.code, r.stderr, tt.code, tt.stderr)
		}
	}
	d.write("empty.yaml", strings.Replace(campaignFile, "file: list.csv, ", "", 1))
	d.says(2, "", "campaignd: "+d.path("empty.yaml")+" names no list: set recipients.file, or pass --recipients FILE\n",
		"check", d.path("empty.yaml"))
}

func TestAFindingIsShownWithItsExcerpt(t *testing.T) {
	f := &launch.Preflight{Campaign: "spring", List: "l.csv", Findings: []file.Finding{
		{Level: file.LevelWarning, What: "odd"}, {Level: file.LevelError, Where: "c.yaml:2:3", What: "bad", Excerpt: "    2 | x"},
	}}
	want := "spring with l.csv\nits rows were not judged\nwarning: odd\nerror: c.yaml:2:3: bad\n    2 | x\n"
	if got := printed(t, func(p *program) error { return p.writePreflight(f, true) }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAPreflightIsWrittenForAPerson(t *testing.T) {
	var countries []launch.CountryCount
	for i := range 10 {
		countries = append(countries, launch.CountryCount{Country: fmt.Sprintf("C%d", i), Rows: int64(20 - i)})
	}
	countries[1].Country = ""
	f := &launch.Preflight{
		Campaign: "spring\x1b", List: "l.csv", Dialect: "comma-separated utf-8", Rows: 12, Sendable: 9,
		Skipped:  map[campaign.SkipReason]int64{campaign.InvalidPhone: 3},
		Duration: 90 * time.Second, Pace: 68.4, Countries: countries,
		Examples: []campaign.Reject{{Row: 3, Reason: campaign.InvalidPhone, To: "0803", Note: "line 4"}},
	}
	want := "spring\uFFFD with l.csv (comma-separated utf-8)\n12 rows, 9 can be sent\n" +
		"  3 invalid_phone: the phone number is not a valid international number\n" +
		"sending takes about 1m30s at 68.4 messages per second\n" +
		"countries: C0 20, no country 19, C2 18, C3 17, C4 16, C5 15, C6 14, C7 13, 2 more\n" +
		"\nROW  REASON         TO    WHERE AND WHY\n3    invalid_phone  0803  line 4\n" +
		"and 2 more: --rejects FILE writes those that a correction can help\n"
	if got := printed(t, func(p *program) error { return p.writePreflight(f, true) }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	f = &launch.Preflight{Campaign: "spring", List: "l.csv", Rows: 1, Sendable: 1, Countries: countries[:8]}
	want = "spring with l.csv\n1 row, 1 can be sent\ncountries: C0 20, no country 19, C2 18, C3 17, C4 16, C5 15, C6 14, C7 13\n"
	if got := printed(t, func(p *program) error { return p.writePreflight(f, true) }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAServiceThatRefusesIsNamedWithTheRemedy(t *testing.T) {
	cloud, c := config.Default(), config.Default()
	c.Service.APIKey = messaging.NewSecret("sandbox-key")
	other := errors.New("disk full")
	for _, tt := range []struct {
		c    *config.Config
		err  error
		want string
	}{
		{c, other, "disk full"},
		{c, &messaging.Error{Status: 0}, "; check service.base_url (http://127.0.0.1:8090), or try without a service: campaignd sandbox"},
		{c, &messaging.Error{Status: 401}, "; " + c.Service.KeyRemedy()},
		{cloud, &messaging.Error{Status: 0}, "; check cloud.base_url (https://graph.facebook.com), or try without the platform: " +
			"campaignd sandbox --api cloud"},
		{cloud, &messaging.Error{Status: 401}, "; write a new token of the system user into the token_file of cloud.accounts"},
	} {
		if got := withRemedy(tt.c, tt.err); !strings.HasSuffix(got.Error(), tt.want) || !errors.Is(got, tt.err) {
			t.Errorf("withRemedy(%v) = %q, want it to end in %q", tt.err, got, tt.want)
		}
	}
	if e := (&messaging.Error{Status: 403}); withRemedy(c, e) != error(e) || withRemedy(c, nil) != nil {
		t.Errorf("withRemedy(403) = %v, want it as it is, and nil for nil", withRemedy(c, e))
	}
}
