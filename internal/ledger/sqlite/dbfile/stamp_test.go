package dbfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/ledger"
)

// companionOf writes the companion of a ledger at path with a number of about 3, and returns both.
func companionOf(t *testing.T, path string, is ID) (Stamp, Files) {
	t.Helper()
	r, err := Stamp{"one", 2}.Prepare(path, is)
	if err == nil {
		err = r.Done()
	}
	if err != nil {
		t.Fatalf("writing: %v; want no error", err)
	}
	return r.Stamp, r.Files
}

// The stamp of another ledger does not prove that this ledger is whole.
func TestAStampOfAnotherLedgerIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	const is = ID("12-5")
	s, was := companionOf(t, path, is)
	for _, c := range []struct {
		name string
		s    Stamp
		was  Files
		is   ID
		want string // "": it fits
	}{
		{"as it was", s, was, is, ""},
		{"on a file system without births", s, was, "12-", ""},
		{"of an older program", s, Files{}, is, ""},
		{"of an older program that has opened it since", Stamp{s.ID, s.Number + 1}, was, is, ""},
		{"older", Stamp{s.ID, s.Number - 1}, Files{s.Number - 1, is, was.companion}, is, "a backup was restored"},
		{"older, of an older program", Stamp{s.ID, s.Number - 1}, Files{}, is, "a backup was restored"},
		{"newer", Stamp{s.ID, s.Number + 1}, Files{s.Number + 1, is, was.companion}, is, "it was restored with its companion"},
		{"another inode", s, was, "13-5", "it is a copy"},
		{"the inode, used again", s, was, "12-6", "it is a copy"},
		{"another companion", s, Files{s.Number, is, "99-99"}, is, "it was restored with its companion"},
		{"another ledger", Stamp{"two", s.Number}, Files{s.Number, is, was.companion}, is, "belongs to another ledger"},
		{"a new file", Stamp{"two", 0}, Files{}, is, "is gone: put it or a backup there"},
		{"a backup", Stamp{s.ID, -s.Number}, was, is, "a backup was restored"},
	} {
		err := c.s.Compare(path, c.was, c.is)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v; want no error", c.name, err)
		case c.want != "" && (!errors.Is(err, ledger.ErrRestored) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v; want ErrRestored with %q", c.name, err, c.want)
		}
	}
	if err := (Stamp{"one", 0}).Compare(path+".none", Files{}, is); err != nil {
		t.Errorf("never opened, no stamp: %v; want no error", err)
	}
	const missing = "is missing"
	for _, number := range []int64{1, 2} { // 1: a copy that was made while the first sender ran
		for _, was := range []Files{{}, {number, is, ""}} {
			err := Stamp{"one", number}.Compare(path+".none", was, is)
			if !errors.Is(err, ledger.ErrRestored) || !strings.Contains(err.Error(), missing) {
				t.Errorf("number %d, %v, no stamp: %v; want ErrRestored with %q", number, was, err, missing)
			}
		}
	}
	if _, err := (Stamp{"one", 2}).Prepare(filepath.Join(path, "no", "folder"), is); err == nil {
		t.Errorf("written where no folder is: %v; want an error", err)
	}
}

// A sender that dies while it gives the ledger a new number starts again, wherever it dies.
func TestADeathWhileTheNumberChangesIsNoCopy(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "x")
		const is = ID("12-5")
		s, was := Stamp{"one", 0}, Files{}
		if !first {
			s, was = companionOf(t, path, is)
		}
		if err := s.Compare(path, was, is); err != nil {
			t.Errorf("before (first: %v): %v; want no error", first, err)
		}
		r, err := s.Prepare(path, is)
		if err != nil {
			t.Fatalf("preparing: %v; want no error", err)
		}
		if err := s.Compare(path, was, is); err != nil {
			t.Errorf("before the commit (first: %v): %v; want no error", first, err)
		}
		if err := r.Compare(path, r.Files, is); err != nil {
			t.Errorf("after the commit (first: %v): %v; want no error", first, err)
		}
		if err := r.Done(); err != nil {
			t.Fatalf("done: %v; want no error", err)
		}
		if err := r.Compare(path, r.Files, is); err != nil {
			t.Errorf("after it (first: %v): %v; want no error", first, err)
		}
		if err := s.Compare(path, was, is); !errors.Is(err, ledger.ErrRestored) {
			t.Errorf("the ledger before it (first: %v): %v; want ErrRestored", first, err)
		}
	}
}

// A stamp that cannot be read is neither missing nor another ledger's.
func TestAStampThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.Mkdir(StampPath(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, number := range []int64{1, 2} {
		err := Stamp{"one", number}.Compare(path, Files{}, "")
		if err == nil || errors.Is(err, ledger.ErrRestored) {
			t.Errorf("number %d, its stamp is a folder: %v; want an error that is not ErrRestored", number, err)
		}
	}
}
