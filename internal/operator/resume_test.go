package operator_test

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign/reception"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"
)

// A run that goes on before the replay sends to people whose opt-out the ledger lost.
func TestAResumeBeforeTheReplaySaysSo(t *testing.T) {
	l, err := sqlite.Open(t.Context(), t.TempDir()+"/l.db", ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &operator.Session{Ledger: l, By: "ann@desk"}
	run := ledgertest.Load(t, l, 9)
	since := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	const warning = "; opt-outs that the ledger lost are not obeyed before `campaignd webhooks replay --since "
	resumed := func(what, want string) {
		t.Helper()
		c, err := d.Resume(t.Context(), run.ID())
		_, said, warned := strings.Cut(c.Sentence, warning)
		if got := strings.TrimSuffix(said, "`"); err != nil || warned != (want != "") || got != want {
			t.Errorf("%s: got %q, %v; want the warning with %q", what, c.Sentence, err, want)
		}
	}
	quarantine := func() {
		t.Helper()
		if _, err := l.Quarantine(t.Context(), 2, since); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Pause(t.Context(), run.ID()); err != nil {
		t.Fatal(err)
	}
	resumed("paused by the operator", "")
	quarantine()
	resumed("after a quarantine", since.Format(time.RFC3339))
	quarantine()
	if err := l.NoteReplay(t.Context(), reception.Span{Since: since, Until: time.Now().Add(time.Minute)}, time.Now()); err != nil {
		t.Fatal(err)
	}
	resumed("after the replay", "")
}
