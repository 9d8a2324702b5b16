package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite/dbfile"
)

func TestARestoredLedgerIsNoticed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "test.db")
	open := func(o ledger.Options) (*Ledger, error) {
		o.Sender = true
		return Open(t.Context(), path, o)
	}
	session := func() campaign.Run {
		l, err := open(ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return ledgertest.Load(t, l, 10)
	}
	session()
	session()
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	session()
	if err := os.WriteFile(path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(ledger.Options{}); !errors.Is(err, ledger.ErrRestored) {
		t.Fatalf("a restored backup: %v; want ErrRestored", err)
	}
	looked, err := open(ledger.Options{AcceptRestored: true})
	if err != nil {
		t.Fatal(err)
	}
	claim := campaign.Claim{Connection: "conn_1", Runs: []campaign.RunNo{1}, Max: 1, Lease: time.Minute}
	if _, err := looked.Claim(t.Context(), claim); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("a claim before the quarantine: %v; want ErrRestored", err)
	}
	if _, err := looked.Intend(t.Context(), []campaign.Intent{{Connection: "conn_1", To: 1}}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("an intent before the quarantine: %v; want ErrRestored", err)
	}
	if err := looked.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := open(ledger.Options{AcceptRestored: true}) // only the quarantine accepts the ledger
	if err != nil {
		t.Fatal(err)
	}
	const remedy = "run `campaignd ledger quarantine`"
	if err := l.Restored(t.Context()); !errors.Is(err, ledger.ErrRestored) || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), remedy) {
		t.Errorf("got %v; want ErrRestored in one line with %q", err, remedy)
	}
	n, err := l.Quarantine(t.Context(), 4, nil, time.Now().Add(-time.Minute))
	if err != nil || n != 8 {
		t.Errorf("put %d in doubt, %v; want 8, 4 of each run", n, err)
	}
	if got, err := l.Run(t.Context(), 1); err != nil || got.State != campaign.Paused || got.Reason != campaign.PausedByLedger {
		t.Errorf("got %+v %v; want no error, State Paused, Reason PausedByLedger", got, err)
	}
	if _, err := l.SetWanted(t.Context(), 1, campaign.WantRun, ""); err != nil {
		t.Fatal(err)
	}
	if ls := ledgertest.ClaimAll(t, l, 1); len(ls) != 1 || ls[0].Mark != 4 {
		t.Errorf("got %+v; want length 1, Mark 4", ls)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	session() // an accepted ledger opens like any other

	if err := os.Remove(dbfile.StampPath(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := open(ledger.Options{}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("a copied file: %v; want ErrRestored", err)
	}
}
