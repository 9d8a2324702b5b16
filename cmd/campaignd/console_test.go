package main

import (
	"strings"
	"testing"

	"campaignd/internal/client"
)

func TestTheConsoleIsOpenedWhereItIsServed(t *testing.T) {
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	d.write("campaignd.yaml", "ledger: sqlite:"+d.path("l.db")+"\n")
	config := d.path("campaignd.yaml")
	wantIn(t, "without a ledger", d.want(2, "console", "--config", config).stderr, "there is no ledger")
	d.want(0, "keys", "create", "desk", "--config", config)
	wantIn(t, "without serve", d.want(1, "console", "--config", config).stderr, "no `campaignd serve` has the ledger", "start one")
	access := client.NewAccess("http://127.0.0.1:8081")
	if err := access.Write(d.path("l.db.api")); err != nil {
		t.Fatal(err)
	}
	got := d.want(0, "console", "--print", "--config", config).stdout
	if want := "http://127.0.0.1:8081/console/enter?token="; !strings.HasPrefix(got, want) || len(strings.TrimSpace(got)) != len(want)+64 {
		t.Errorf("got %q, want %s and a token", got, want)
	}
	if again := d.want(0, "console", "--print", "--config", config).stdout; again == got || strings.Contains(got, access.Key) {
		t.Errorf("got %q and %q, want two tokens, and the key in none", got, again)
	}
	d.env["CAMPAIGND_CONSOLE_ENABLED"] = "false"
	wantIn(t, "switched off", d.want(2, "console", "--config", config).stderr, "console.enabled is false")
}
