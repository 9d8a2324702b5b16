package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/ledger"
)

// The stamp of another ledger does not prove that this ledger is whole.
func TestAStampOfAnotherLedgerIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.stamp")
	if err := (stamp{"one", 3}).write(path); err != nil {
		t.Fatalf("writing: %v; want no error", err)
	}
	for _, c := range []struct {
		s    stamp
		want string // "": it fits
	}{
		{stamp{"one", 3}, ""},
		{stamp{"one", 4}, ""},
		{stamp{"one", 2}, "it was opened 2 times, its companion " + path + " counted 3"},
		{stamp{"two", 3}, "belongs to another ledger"},
	} {
		err := c.s.compare(path)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: %v; want no error", c.s, err)
		case c.want != "" && (!errors.Is(err, ledger.ErrRestored) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v; want ErrRestored with %q", c.s, err, c.want)
		}
	}
	if err := (stamp{"one", 1}).compare(path + ".none"); err != nil {
		t.Errorf("opened once, no stamp: %v; want no error", err)
	}
	const missing = "is missing"
	if err := (stamp{"one", 2}).compare(path + ".none"); !errors.Is(err, ledger.ErrRestored) || !strings.Contains(err.Error(), missing) {
		t.Errorf("opened twice, no stamp: %v; want ErrRestored with %q", err, missing)
	}
	if err := (stamp{"one", 2}).write(filepath.Join(path, "no", "folder")); err == nil {
		t.Errorf("written where no folder is: %v; want an error", err)
	}
}

// A stamp that cannot be read is neither missing nor another ledger's.
func TestAStampThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, opens := range []int64{1, 2} {
		if err := (stamp{"one", opens}).compare(t.TempDir()); err == nil || errors.Is(err, ledger.ErrRestored) {
			t.Errorf("opened %d times, its stamp is a folder: %v; want an error that is not ErrRestored", opens, err)
		}
	}
}
