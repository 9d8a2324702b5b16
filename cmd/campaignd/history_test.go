package main

import (
	"strings"
	"testing"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"
)

func TestTheCommandHistoryNamesWhoAsked(t *testing.T) {
	t.Parallel()
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.path("campaignd.db")
	l, err := sqlite.Open(t.Context(), d.path("campaignd.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	ledgertest.Load(t, l, 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"pause", "resume", "cancel"} {
		d.want(0, verb, "1")
	}
	var got []string
	for line := range strings.Lines(d.want(0, "history", "1").stdout) {
		_, what, _ := strings.Cut(strings.TrimSpace(line), "UTC  ")
		got = append(got, what)
	}
	who := " by " + operator.LocalUser()
	want := []string{"", "launched", "paused" + who, "resumed" + who, "cancelled" + who, "ended as cancelled"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("history: got %q, want %q", got, want)
	}
	wantIn(t, "history as JSON", d.want(0, "history", "1", "-o", "json").stdout, `"value": "pause",`, `"who": "`+operator.LocalUser())
}
