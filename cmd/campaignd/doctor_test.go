package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"campaignd/internal/doctor"
)

// diagnosed is the result of the doctor by check; of several with one name the last.
func (d *fixture) diagnosed(code int) map[string]doctor.Check {
	d.t.Helper()
	var checks []doctor.Check
	if r := d.want(code, "doctor", "-o", "json"); json.Unmarshal([]byte(r.stdout), &checks) != nil {
		d.t.Fatalf("doctor -o json: got %q, want a list of checks", r.stdout)
	}
	by := map[string]doctor.Check{}
	for _, c := range checks {
		by[c.Name] = c
		if (c.Remedy == "") != (c.Health == doctor.HealthOK) {
			d.t.Errorf("check %+v: want a remedy with each fault, and none without", c)
		}
	}
	return by
}

func TestTheDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	is := func(about string, got doctor.Check, want doctor.Health) {
		t.Helper()
		if got.Health != want {
			t.Errorf("%s: got %+v, want %s", about, got, want)
		}
	}
	well := d.diagnosed(0)
	for _, name := range []string{"service", "key", "clock", "ledger", "redis", "time zones"} {
		is(name+" of a well machine", well[name], doctor.HealthOK)
	}
	is("an endpoint that nothing serves", well["webhooks"], doctor.HealthWarn)
	d.want(0, "suppressions", "add", "+2348031234567") // makes the ledger
	is("a ledger", d.diagnosed(0)["durability"], doctor.HealthOK)
	wantIn(t, "the table", d.want(0, "doctor").stdout, "ok           time zones  ")

	stop := d.serving()
	is("an endpoint that is served", d.diagnosed(0)["webhooks"], doctor.HealthOK)
	stop()

	is("no folder where the configuration names one", d.diagnosed(0)["campaigns"], doctor.HealthWarn)
	if err := os.Mkdir(d.path("campaigns"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write("campaigns/odd.yaml", "name: odd\n")
	is("a broken campaign file", d.diagnosed(1)["campaigns"], doctor.HealthFail)
	if err := os.Remove(d.path("campaigns/odd.yaml")); err != nil {
		t.Fatal(err)
	}

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	closed.Close()
	d.env["CAMPAIGND_REDIS"] = "redis://" + address
	is("a Redis that is away", d.diagnosed(1)["redis"], doctor.HealthFail)
	d.env["CAMPAIGND_REDIS"] = ""
	key := d.env["CAMPAIGND_SERVICE_API_KEY"]
	d.env["CAMPAIGND_SERVICE_API_KEY"] = "another-key-of-nobody"
	is("a wrong key", d.diagnosed(1)["key"], doctor.HealthFail)
	d.env["CAMPAIGND_SERVICE_API_KEY"] = key
	d.env["CAMPAIGND_NUMBERS"] = "{conn_of_another: {rate: 80}}"
	is("a connection beyond the key", d.diagnosed(0)["key"], doctor.HealthWarn)
	delete(d.env, "CAMPAIGND_NUMBERS")
	d.env["CAMPAIGND_SERVICE_BASE_URL"] = "http://" + address
	is("a service that is away", d.diagnosed(1)["service"], doctor.HealthFail)
	d.write("campaignd.db", "this is no database, whatever its name says")
	is("a file that is no ledger", d.diagnosed(1)["ledger"], doctor.HealthFail)
}

// What a firing needs of the service is asked for before.
func TestTheDoctorAsksForWhatSchedulesNeed(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if err := os.Mkdir(d.path("campaigns"), 0o700); err != nil {
		t.Fatal(err)
	}
	daily := campaignFile + "schedule: {cron: '0 9 * * *'}\n"
	d.write("campaigns/list.csv", listOf(3))
	for _, tt := range []struct {
		about, old, new string
		code            int
		want            doctor.Health
		said            string
	}{
		{"all is there", "", "", 0, doctor.HealthOK, "the connections and the template of 1 scheduled campaign"},
		{"another template", "name: order_update", "name: order_updates", 1, doctor.HealthFail, "order_updates"},
		{"another language", "language: en", "language: fr", 1, doctor.HealthFail, "fr"},
		{"another connection", "conn_1", "conn_of_another", 1, doctor.HealthFail, "conn_of_another"},
	} {
		text := strings.ReplaceAll(daily, tt.old, tt.new)
		if tt.old == "" {
			text = daily
		} else if text == daily {
			t.Fatalf("%s: got no %q in %q, want it", tt.about, tt.old, daily)
		}
		d.write("campaigns/daily.yaml", text)
		if got := d.diagnosed(tt.code)["templates"]; got.Health != tt.want || !strings.Contains(got.Detail, tt.said) {
			t.Errorf("%s: got %+v, want %s %q", tt.about, got, tt.want, tt.said)
		}
	}
	d.write("campaigns/daily.yaml", daily)
	d.env["CAMPAIGND_SERVICE_BASE_URL"] = "http://" + d.public // nothing listens there
	if got := d.diagnosed(1)["templates"]; got.Health != doctor.HealthUnchecked {
		t.Errorf("a service that is away: got %+v, want %s", got, doctor.HealthUnchecked)
	}
}

// An endpoint must take what our secrets sign, into our ledger.
func TestTheDoctorNoticesWhoseEndpointAnswers(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "suppressions", "add", "+2348031234567")
	defer d.serving()()
	want := func(about string, code int, health doctor.Health, said string) {
		t.Helper()
		if got := d.diagnosed(code)["webhooks"]; got.Health != health || !strings.Contains(got.Detail, said) {
			t.Errorf("%s: got %+v, want %s %q", about, got, health, said)
		}
	}
	want("our own", 0, doctor.HealthOK, "takes signed events into this ledger")
	d.want(0, "webhooks", "test")
	ours := d.env["CAMPAIGND_LEDGER"]
	d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.path("other.db")
	d.want(0, "suppressions", "add", "+2348031234567")
	want("of another ledger", 1, doctor.HealthFail, "leads to another campaignd")
	if r := d.run("webhooks", "test"); r.code != 1 || !strings.Contains(r.stderr, "leads to another campaignd") {
		t.Errorf("webhooks test: got %d %q, want 1 and the other campaignd", r.code, r.stderr)
	}
	d.env["CAMPAIGND_LEDGER"] = ours
	d.env["CAMPAIGND_WEBHOOKS_SECRETS"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	want("of another secret", 1, doctor.HealthFail, "does not take an event that webhooks.secrets[0] signs: 401")
}

// The doctor fails a ledger that serve refuses, and why says that nothing is sent.
func TestTheDoctorSaysThatALedgerIsRefused(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	sick := func(about string, parts ...string) {
		t.Helper()
		got := d.diagnosed(1)["ledger"]
		if got.Health != doctor.HealthFail {
			t.Errorf("%s: got %+v, want %s", about, got, doctor.HealthFail)
		}
		wantIn(t, about, got.Detail, parts...)
		d.oneLineOf(1, parts, "run", d.path("c.yaml"))
	}
	file := d.path("campaignd.db")
	copied := func() {
		t.Helper()
		whole, err := os.ReadFile(file)
		if err == nil {
			err = os.Remove(file)
		}
		if err != nil {
			t.Fatal(err)
		}
		d.write("campaignd.db", string(whole))
	}
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.spoil("UPDATE run SET state = 'running', ended_at = 0")
	if got := d.diagnosed(0)["ledger"]; got.Health != doctor.HealthOK {
		t.Errorf("a ledger at rest: got %+v, want %s", got, doctor.HealthOK)
	}
	copied()
	sick("a copy", "went back in time: it is a copy", "campaignd ledger quarantine")
	wantIn(t, "why", d.want(0, "why", "latest").stdout, "nothing is sent: ledger "+file+": it went back in time")
	for _, look := range []string{"audit", "report"} {
		wantIn(t, look, d.want(0, look, "latest").stderr, "the ledger went back in time", "`campaignd doctor`")
	}
	d.want(0, "ledger", "quarantine", "--lost", "0s")
	if got := d.diagnosed(0)["ledger"]; got.Health != doctor.HealthOK {
		t.Errorf("after the quarantine: got %+v, want %s", got, doctor.HealthOK)
	}

	stop := d.serving()
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	gone := "the ledger " + file + " is gone"
	holder := fmt.Sprintf("from process %d, which sends nothing more", os.Getpid())
	if got := d.diagnosed(1)["ledger"]; got.Health != doctor.HealthFail {
		t.Errorf("a ledger that is gone: got %+v, want %s", got, doctor.HealthFail)
	}
	d.oneLineOf(1, []string{gone, holder}, "why", "latest")
	if err := os.Rename(file+".old", file); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	d.oneLineOf(1, []string{gone, "put the file or a backup in its place"}, "why", "latest")
	if got := d.diagnosed(1)["ledger"]; got.Health != doctor.HealthFail {
		t.Errorf("a ledger that is gone: got %+v, want %s", got, doctor.HealthFail)
	}
	d.oneLineOf(1, []string{"is gone: put it or a backup there"}, "run", d.path("c.yaml"))
}
