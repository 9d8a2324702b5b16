package main

import (
	"os"
	"strings"
	"testing"
)

// A backup is restored that has a person again who was erased since. What the quarantine prints,
// and the command that it names, lead to the same ledger as before.
func TestLostErasuresAreRepeated(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	file, number := d.path("b.db"), "+2348031200001"
	d.want(0, "backup", file)
	d.oneLineOf(2, []string{"the ledger was not quarantined", "--since"}, "ledger", "erasures")
	if got := d.want(0, "erase", number, "--yes").stdout; !strings.Contains(got, "erased from 1 row ") {
		t.Fatalf("erase: got %q, want one row erased", got)
	}
	want := d.want(0, "report", "latest", "-o", "csv").stdout
	for _, side := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(d.path("campaignd.db" + side)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.Rename(file, d.path("campaignd.db")); err != nil {
		t.Fatal(err)
	}
	if got := d.want(0, "report", "latest", "-o", "csv").stdout; got == want || !strings.Contains(got, number) {
		t.Fatalf("the restored ledger: got\n%s\nwant that it has %s again", got, number)
	}
	wantIn(t, "quarantine", d.want(0, "ledger", "quarantine", "--lost", "1m").stdout,
		"`campaignd ledger erasures` on each machine and in each pod that erased numbers in the lost time. 1 is noted here.\n",
		"The restored ledger has these people again.")
	said := d.want(0, "ledger", "erasures").stdout
	wantIn(t, "erasures", said, "1 erasure is noted in "+d.path("campaignd.db.erasures"), ": 1 row erased")
	if got := d.want(0, "report", "latest", "-o", "csv").stdout; got != want {
		t.Errorf("the report: got\n%s\nwant\n%s", got, want)
	}
	again := d.want(0, "ledger", "erasures", "--file", d.path("campaignd.db.erasures"), "--since", "1h", "-o", "json").stdout
	wantIn(t, "erasures again", again, `"erasures": 1`, `"rows": 0`)
	wantIn(t, "no erasures", d.want(0, "ledger", "erasures", "--file", d.path("none")).stdout, "0 erasures are noted")
	d.oneLineOf(2, []string{"--since \"soon\""}, "ledger", "erasures", "--since", "soon")
	d.env["CAMPAIGND_DATA_DIR"] = t.TempDir()
	wantIn(t, "another folder", d.want(0, "ledger", "erasures").stdout, "0 erasures are noted")
}

// A run that a quarantine paused goes on when the deliveries that the service posts again have
// come, or when the operator says that no more come.
func TestAResumeWaitsForTheDeliveriesOfAReplay(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.env["CAMPAIGND_NUMBERS"] = "{conn_1: {rate: 40}}"
	d.write("list.csv", listOf(100))
	d.write("c.yaml", campaignFile+"policies: {doubt_window: 24h}\n")
	d.sendUntil(5)
	d.want(0, "ledger", "quarantine", "--force", "--lost", "1s")
	if got := d.want(0, "webhooks", "replay", "--end").stdout; !strings.Contains(got, "0 deliveries of the replay that did not come") {
		t.Errorf("before a replay: got %q, want that nothing is waited for", got)
	}
	d.oneLineOf(2, []string{"--end asks for no events"}, "webhooks", "replay", "--end", "--since", "1h")
	d.want(0, "webhooks", "replay", "--since", "1h") // while nobody takes webhooks
	for _, args := range [][]string{{"resume", "latest"}, {"resume", "--all"}} {
		if r := d.run(args...); r.code != 1 || !strings.Contains(r.stderr, "0 of ") || !strings.Contains(r.stderr, "webhooks replay --end") {
			t.Errorf("%s: got exit code %d and %q, want 1, the count and the remedy", strings.Join(args, " "), r.code, r.stderr)
		}
	}
	wantIn(t, "doctor", d.run("doctor").stdout, "lost events", "0 of ", "that the service posts again")
	if got := d.want(0, "webhooks", "replay", "--end").stdout; strings.Contains(got, "the 0 deliveries") {
		t.Errorf("after a replay without an intake: got %q, want that deliveries are missing", got)
	}
	d.want(0, "resume", "latest")
	d.want(0, "pause", "latest")
	stop := d.serving("--role", "intake")
	d.want(0, "webhooks", "replay", "--since", "1h")
	d.eventually("all deliveries have come", func() bool { return d.run("resume", "latest").code == 0 })
	stop()
	if got := d.want(0, "webhooks", "replay", "--end").stdout; !strings.Contains(got, "the 0 deliveries") {
		t.Errorf("after all have come: got %q, want that none is missing", got)
	}
}
