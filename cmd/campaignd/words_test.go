package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/daemon"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// printed is what a command's writer prints.
func printed(t *testing.T, write func(*program) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&program{stdout: &out}); err != nil {
		t.Error(err)
	}
	return out.String()
}

func TestAStateIsShownWithWhatIsBehindIt(t *testing.T) {
	for _, tt := range []struct {
		facts runFacts
		want  string
	}{
		{runFacts{State: campaign.Running, Wanted: campaign.WantRun}, "running"},
		{runFacts{State: campaign.Running}, "running"},
		{runFacts{State: campaign.Running, Wanted: campaign.WantPause}, "running, wanted: pause"},
		{runFacts{State: campaign.Paused, Wanted: campaign.WantPause, Reason: campaign.PausedByOperator}, "paused (operator)"},
		{runFacts{State: campaign.Cancelled, Wanted: campaign.WantCancel}, "cancelled"},
	} {
		if got := tt.facts.stateOf(); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.facts, got, tt.want)
		}
	}
}

func TestAFollowUpSaysWhoIsLeftOut(t *testing.T) {
	run := campaign.Run{No: 2, Campaign: "spring", State: campaign.Ready}
	waits := run
	waits.State = campaign.WaitingApproval
	for _, tt := range []struct {
		f    campaign.FollowedUp
		want string
	}{
		{campaign.FollowedUp{Run: run, Chosen: 3}, "spring-2: 3 rows; `campaignd serve` sends it\n"},
		{campaign.FollowedUp{Run: waits, Chosen: 3}, "spring-2: 3 rows; `campaignd approve spring-2` releases it\n"},
		{campaign.FollowedUp{Run: run, Chosen: 3, Elsewhere: 1, NoID: 2}, "spring-2: 3 rows; 1 left out that are in another follow-up run; 2 left out that the service accepted; `campaignd serve` sends it\n"},
		{campaign.FollowedUp{Run: run, Chosen: 3, Existed: true}, "spring-2 was made of the same rows before (3 rows, ready); nothing was added\n"},
	} {
		if got := printed(t, func(p *program) error { return p.writeFollowUp(tt.f) }); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.f, got, tt.want)
		}
	}
}

func TestDoubtsAreListedAndCounted(t *testing.T) {
	rows := []campaign.Doubtful{{Row: 4, To: "+1", Status: campaign.Unknown, Reason: "timeout", Attempts: 2, Connection: "conn_1", RequestID: "r"}}
	u := campaign.Uncertainty{Run: "spring-2", Unknown: 2, InDoubt: 1, ByReason: map[string]int64{"timeout": 2, "reset": 1}, Rows: rows}
	const table = "spring-2: 2 rows unknown, 1 still in doubt\n  1 after reset\n  2 after timeout\n\n" +
		"ROW  TO  STATUS   REASON   ATTEMPTS  CONNECTION  REQUEST\n4    +1  unknown  timeout  2         conn_1      r\n" +
		"and 2 more: `campaignd report spring-2 --format csv` has them all\n"
	next := &campaign.FollowedUp{Run: campaign.Run{No: 3, Campaign: "spring", State: campaign.Ready}, Chosen: 2}
	for _, tt := range []struct {
		f    *campaign.FollowedUp
		keep bool
		want string
	}{
		{nil, false, table + "\nDecide with --unknown resend (whoever did get the message gets it twice) or --unknown keep.\n"},
		{nil, true, table + "\nKept as they are. A late webhook still moves them to what it proves.\n"},
		{next, false, table + "\nspring-3: 2 rows; `campaignd serve` sends it\n"},
	} {
		if got := printed(t, func(p *program) error { return p.writeResolved(u, tt.f, tt.keep) }); got != tt.want {
			t.Errorf("keep %v: got\n%s\nwant\n%s", tt.keep, got, tt.want)
		}
	}
	u.Unknown, u.InDoubt = 0, 2
	if got := printed(t, func(p *program) error { return p.writeResolved(u, nil, false) }); !strings.HasSuffix(got, "\nand 1 more: `campaignd report spring-2 --format csv` has them all\n") {
		t.Errorf("one of two is listed: got\n%s\nwant it to end in \"and 1 more\"", got)
	}
	open := campaign.Uncertainty{Run: "spring-2", InDoubt: 1, Rows: rows}
	if got := printed(t, func(p *program) error { return p.writeResolved(open, nil, false) }); strings.Contains(got, "more:") || strings.Contains(got, "Decide") {
		t.Errorf("all are listed and none is unknown: got\n%s", got)
	}
}

func TestAQuarantineTellsWhatComesNext(t *testing.T) {
	newest := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	run := daemon.QuarantinedRun{Run: "spring-2", State: campaign.Paused, Reason: campaign.PausedByLedger, InDoubt: 3, Queued: 4}
	full := daemon.Quarantined{
		Ledger: "sqlite:a", WentBack: true, Done: true, Newest: newest, Since: newest, Rate: 34.2, Connection: "conn_1", Assumed: []string{"b", "c"},
		Ahead: 35, Doubts: 3, Runs: []daemon.QuarantinedRun{run}, Firings: []daemon.LostFiring{{Campaign: "daily", At: newest, Run: "daily-9"}},
	}
	head := "sqlite:a went back in time; its newest record is of " + clock(newest) + ago(newest) + "\n"
	const table = "\nRUN       STATE            IN DOUBT  QUEUED\nspring-2  paused (ledger)  3         4\n"
	const since = "`campaignd serve --role intake`, and have the service replay its webhooks since 2026-11-21 09:00:00 UTC:\n     they prove what was sent, and bring back opt-outs.\n"
	dry, given, nothing, importing := full, full, full, full
	dry.DryRun, dry.Done, dry.Firings = true, false, []daemon.LostFiring{{Campaign: "daily", At: newest}}
	given.Rate, given.Assumed, given.Firings = 0, nil, nil
	nothing.Ahead, nothing.Rate, nothing.Assumed, nothing.Firings, nothing.Doubts = 0, 0, nil, nil, 0
	importing.Assumed, importing.Firings = nil, nil
	importing.Runs = []daemon.QuarantinedRun{{Run: "spring-2", State: campaign.Importing}}
	for _, tt := range []struct {
		name string
		q    daemon.Quarantined
		o    daemon.QuarantineOptions
		want string
	}{
		{"all of it", full, daemon.QuarantineOptions{Lost: time.Second}, head +
			"3 deliveries are put in doubt: up to 35 of each unfinished segment (34.2 a second over conn_1 for 1s), retries that were due, and what was in flight\n" +
			"the rate of b, c is not known and assumed: set numbers.CONNECTION.rate, or give --ahead\n" + table +
			"the schedule of daily, due " + clock(newest) + ", may have been launched in the lost time: it counts as launched (daily-9); if it was not, `campaignd run` launches it\n" +
			"\nNext:\n  1. If anything was sent later than 1s after the newest record: `campaignd ledger quarantine --force --lost TIME`.\n  2. " + since +
			"  3. Runs launched in the lost time are not in this ledger: do not launch their lists again.\n" +
			"  4. `campaignd resume RUN` for each paused run. What no webhook proved ends as unknown: `campaignd resolve RUN`.\n"},
		{"a dry run", dry, daemon.QuarantineOptions{Lost: time.Second}, head +
			"3 deliveries would be put in doubt: up to 35 of each unfinished segment (34.2 a second over conn_1 for 1s), retries that were due, and what was in flight\n" +
			"the rate of b, c is not known and assumed: set numbers.CONNECTION.rate, or give --ahead\n" +
			"\nRUN       STATE            IN DOUBT NOW  QUEUED NOW\nspring-2  paused (ledger)  3             4\n" +
			"the schedule of daily, due " + clock(newest) + ", may have been launched in the lost time: it would count as launched\n\nNothing was changed.\n"},
		{"as --ahead says", given, daemon.QuarantineOptions{Lost: time.Second}, head +
			"3 deliveries are put in doubt: up to 35 of each unfinished segment (as --ahead says), retries that were due, and what was in flight\n" + table +
			"\nNext:\n  1. If anything was sent later than 1s after the newest record: `campaignd ledger quarantine --force --lost TIME`.\n  2. " + since +
			"  3. Runs launched in the lost time are not in this ledger: do not launch their lists again.\n" +
			"  4. `campaignd resume RUN` for each paused run. What no webhook proved ends as unknown: `campaignd resolve RUN`.\n"},
		{"nothing was sent", nothing, daemon.QuarantineOptions{}, head + "no delivery is put in doubt, as nothing was sent\n" + table +
			"\nNext:\n  1. `campaignd resume RUN` for each paused run. What no webhook proved ends as unknown: `campaignd resolve RUN`.\n"},
		{"an import", importing, daemon.QuarantineOptions{}, head +
			"3 deliveries are put in doubt: up to 35 of each unfinished segment (34.2 a second over conn_1 for 0s), retries that were due, and what was in flight\n" +
			"\nRUN       STATE      IN DOUBT  QUEUED\nspring-2  importing  0         0\n" +
			"\nNext:\n  1. A run was being imported. Its import ends in a pause: then `campaignd ledger quarantine --force` again, for rows that it had not yet.\n" +
			"  2. No run was paused: `campaignd run` and `serve` go on.\n"},
	} {
		got := printed(t, func(p *program) error { return p.writeQuarantined(tt.q, tt.o) })
		if i := strings.Index(got, " ago)"); i >= 0 { // its seconds pass
			got = got[:strings.LastIndex(got[:i], " (")] + ago(newest) + got[i+5:]
		}
		if got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestAPreflightIsSaidToAPerson(t *testing.T) {
	var countries []campaign.CountryCount
	for i := range 10 {
		countries = append(countries, campaign.CountryCount{Country: fmt.Sprintf("C%d", i), Rows: int64(20 - i)})
	}
	countries[1].Country = ""
	f := &campaign.Preflight{
		Campaign: "spring\x1b", List: "l.csv", Dialect: "comma-separated utf-8", Rows: 12, Sendable: 9, Skipped: map[campaign.SkipReason]int64{campaign.InvalidPhone: 3},
		Duration: 90 * time.Second, Pace: 68.4, Countries: countries,
		Examples: []campaign.Reject{{Row: 3, Reason: campaign.InvalidPhone, To: "0803", Note: "line 4"}},
	}
	want := "spring\uFFFD with l.csv (comma-separated utf-8)\n12 rows, 9 can be sent\n  3 invalid_phone: the phone number is not a valid international number\n" +
		"sending takes about 1m30s at 68.4 messages per second\ncountries: C0 20, no country 19, C2 18, C3 17, C4 16, C5 15, C6 14, C7 13, 2 more\n" +
		"\nROW  REASON         TO    WHERE AND WHY\n3    invalid_phone  0803  line 4\nand 2 more: --rejects FILE writes all of them\n"
	if got := printed(t, func(p *program) error { return p.writePreflight(f) }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	f = &campaign.Preflight{Campaign: "spring", List: "l.csv", Rows: 1, Sendable: 1, Countries: countries[:8]}
	want = "spring with l.csv\n1 rows, 1 can be sent\ncountries: C0 20, no country 19, C2 18, C3 17, C4 16, C5 15, C6 14, C7 13\n"
	if got := printed(t, func(p *program) error { return p.writePreflight(f) }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAServiceThatRefusesIsNamedWithTheRemedy(t *testing.T) {
	c := daemon.DefaultConfig()
	other := errors.New("disk full")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{other, "disk full"},
		{&messaging.Error{Status: 0}, "; check service.base_url (http://127.0.0.1:8090), or try without a service: campaignd sandbox"},
		{&messaging.Error{Status: 401}, "; check service.api_key"},
	} {
		if got := unasked(c, tt.err); !strings.HasSuffix(got.Error(), tt.want) || !errors.Is(got, tt.err) {
			t.Errorf("unasked(%v) = %q, want it to end in %q", tt.err, got, tt.want)
		}
	}
	if e := (&messaging.Error{Status: 403}); unasked(c, e) != error(e) || unasked(c, nil) != nil {
		t.Errorf("unasked(403) = %v, want it as it is, and nil for nil", unasked(c, e))
	}
}

func TestValuesAreShownSafely(t *testing.T) {
	for given, want := range map[string]string{"plain é 中": "plain é 中", "\x1b[31mred\n": "\uFFFD[31mred\uFFFD", "": ""} {
		if got := printable(given); got != want {
			t.Errorf("printable(%q) = %q, want %q", given, got, want)
		}
	}
	if got := clock(time.Time{}); got != "-" {
		t.Errorf("clock of no time = %q, want -", got)
	}
	key := func(s string) sandbox.Key { return sandbox.Key{Token: s} }
	if one, two := keysOf(sandbox.Options{Keys: []sandbox.Key{key("a")}}), keysOf(sandbox.Options{Keys: []sandbox.Key{key("a"), key("b")}}); one != "key a" || two != "keys a, b" {
		t.Errorf("keysOf = %q and %q, want \"key a\" and \"keys a, b\"", one, two)
	}
	if got, err := durations([]string{"1s", "1ns"}); err != nil || fmt.Sprint(got) != "[1s 1ns]" {
		t.Errorf("durations = %v and %v, want [1s 1ns]", got, err)
	}
}
