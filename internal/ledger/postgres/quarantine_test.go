//go:build unix

package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// A quarantine moves every mark, so it does not run again when the answer to its commit is lost.
func TestAQuarantineWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	t.Parallel()
	wire := newCutter(t, server(t).Addr)
	l := openAt(t, wire.through(migrated(t)), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}}); err != nil {
		t.Fatal(err)
	}
	wire.cut.Store(answerLost)
	if n, err := l.Quarantine(t.Context(), 5, time.Now()); n != 0 || !errors.Is(err, campaign.ErrUnknownCommit) {
		t.Errorf("got %d, %v; want 0 and ErrUnknownCommit", n, err)
	}
	if wire.cut.Load() != passes {
		t.Error("the commit was not cut; want it cut")
	}
	s, err := l.SegmentStates(t.Context(), r.No)
	if err != nil || len(s) != 1 || s[0].Mark != 15 {
		t.Errorf("got segments %+v, %v; want one whose mark moved once, from 10 to 15", s, err)
	}
}

func TestARestoredServerIsNoticed(t *testing.T) {
	t.Parallel()
	s := own(t)
	open := func(o ledger.Options) (*Ledger, error) {
		o.Sender = true
		return Open(t.Context(), s.URL("postgres"), o)
	}
	l, err := open(ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	intent := func(from, to int64) error {
		_, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: to}})
		return err
	}
	if err := intent(0, 10); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(); err != nil {
		t.Fatal(err)
	}
	if err := l.Record(t.Context(), ledgertest.Acceptances(lease, 0, 10)); err != nil { // results are recorded all the same
		t.Fatal(err)
	}
	if err := intent(10, 20); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("an intent on another timeline: %v; want ErrRestored", err)
	}
	claim := campaign.Claim{Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: time.Minute}
	if _, err := l.Claim(t.Context(), claim); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("a claim on another timeline: %v; want ErrRestored", err)
	}
	if _, err := open(ledger.Options{}); !errors.Is(err, ledger.ErrRestored) || strings.Contains(err.Error(), "\n") {
		t.Errorf("opened on another timeline: %v; want ErrRestored, a text without \"\\n\"", err)
	}
	operator, err := open(ledger.Options{AcceptRestored: true})
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	if err := operator.Restored(t.Context()); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("before the quarantine: %v; want ErrRestored", err)
	}
	if _, err := open(ledger.Options{}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("opened before the quarantine: %v; want ErrRestored", err)
	}
	n, err := operator.Quarantine(t.Context(), 15, time.Now().Add(-time.Minute))
	if err != nil || n != 15 {
		t.Errorf("put %d in doubt, %v; want no error, 15", n, err)
	}
	if got, err := operator.Run(t.Context(), r.No); err != nil || got.State != campaign.Paused || got.Reason != campaign.PausedByLedger {
		t.Errorf("got %+v %v; want no error, State Paused, Reason PausedByLedger", got, err)
	}
	if _, err := operator.SetWanted(t.Context(), r.No, campaign.WantRun, ""); err != nil {
		t.Fatal(err)
	}
	ls := ledgertest.ClaimAll(t, l, r.No) // the process that was not restarted goes on
	if len(ls) != 1 || ls[0].Mark != 25 {
		t.Fatalf("got %+v; want length 1, Mark 25", ls)
	}
	if got := ledgertest.Totals(t, l, r.No); got[campaign.Accepted] != 10 || got[campaign.InDoubt] != 15 || got[campaign.Queued] != 75 {
		t.Errorf("got %v; want Accepted: 10, InDoubt: 15, Queued: 75", got)
	}
}

func TestAReaderOfPostgresQuarantinesNothing(t *testing.T) {
	t.Parallel()
	l := openAt(t, migrated(t), ledger.Options{ReadOnly: true})
	const want = "is open for reading only"
	if n, err := l.Quarantine(t.Context(), 1, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("quarantined %d: %v; want an error with %q", n, err, want)
	}
	if n, err := l.Rehearse(t.Context(), 1, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("rehearsed %d: %v; want an error with %q", n, err, want)
	}
}
