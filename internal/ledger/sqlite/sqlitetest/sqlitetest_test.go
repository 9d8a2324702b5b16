package sqlitetest_test

import (
	"path/filepath"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/ledger/sqlite/sqlitetest"
)

func TestEachNewLedgerIsEmptyAndAnother(t *testing.T) {
	first, second := sqlitetest.Open(t, ledger.Options{Sender: true}), sqlitetest.Open(t, ledger.Options{})
	ledgertest.Load(t, first, 3)
	if runs, err := second.Runs(t.Context(), campaign.RunFilter{}); err != nil || len(runs) != 0 {
		t.Errorf("a new ledger has %d runs, %v; want none, no error", len(runs), err)
	}
	if a, b := first.LedgerID(), second.LedgerID(); a == b || a == "" || b == "" {
		t.Errorf("two new ledgers have the ids %q and %q; want two", a, b)
	}
}

func Example() {
	test := func(t *testing.T) {
		path := filepath.Join(ledgertest.Folder(t), "campaignd.db")
		sqlitetest.New(t, path)
		l, err := sqlite.Open(t.Context(), path, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	_ = test
	// Output:
}
