package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/ledger"
)

// companionOf writes the companion of a ledger at path with a number of about 3, and returns both.
func companionOf(t *testing.T, path string, is fileID) (stamp, files) {
	t.Helper()
	r, err := stamp{"one", 2}.prepare(path, is)
	if err == nil {
		err = r.done()
	}
	if err != nil {
		t.Fatalf("writing: %v; want no error", err)
	}
	return r.stamp, r.files
}

// The stamp of another ledger does not prove that this ledger is whole.
func TestAStampOfAnotherLedgerIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	const is = fileID("12-5")
	s, was := companionOf(t, path, is)
	for _, c := range []struct {
		name string
		s    stamp
		was  files
		is   fileID
		want string // "": it fits
	}{
		{"as it was", s, was, is, ""},
		{"on a file system without births", s, was, "12-", ""},
		{"of an older program", s, files{}, is, ""},
		{"of an older program that has opened it since", stamp{s.id, s.number + 1}, was, is, ""},
		{"older", stamp{s.id, s.number - 1}, files{s.number - 1, is, was.companion}, is, "a backup was restored"},
		{"older, of an older program", stamp{s.id, s.number - 1}, files{}, is, "a backup was restored"},
		{"newer", stamp{s.id, s.number + 1}, files{s.number + 1, is, was.companion}, is, "it was restored with its companion"},
		{"another inode", s, was, "13-5", "it is a copy"},
		{"the inode, used again", s, was, "12-6", "it is a copy"},
		{"another companion", s, files{s.number, is, "99-99"}, is, "it was restored with its companion"},
		{"another ledger", stamp{"two", s.number}, files{s.number, is, was.companion}, is, "belongs to another ledger"},
		{"a new file", stamp{"two", 0}, files{}, is, "is gone: put it or a backup there"},
		{"a backup", stamp{s.id, -s.number}, was, is, "a backup was restored"},
	} {
		err := c.s.compare(path, c.was, c.is)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v; want no error", c.name, err)
		case c.want != "" && (!errors.Is(err, ledger.ErrRestored) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v; want ErrRestored with %q", c.name, err, c.want)
		}
	}
	if err := (stamp{"one", 0}).compare(path+".none", files{}, is); err != nil {
		t.Errorf("never opened, no stamp: %v; want no error", err)
	}
	const missing = "is missing"
	for _, number := range []int64{1, 2} { // 1: a copy that was made while the first sender ran
		for _, was := range []files{{}, {number, is, ""}} {
			err := stamp{"one", number}.compare(path+".none", was, is)
			if !errors.Is(err, ledger.ErrRestored) || !strings.Contains(err.Error(), missing) {
				t.Errorf("number %d, %v, no stamp: %v; want ErrRestored with %q", number, was, err, missing)
			}
		}
	}
	if _, err := (stamp{"one", 2}).prepare(filepath.Join(path, "no", "folder"), is); err == nil {
		t.Errorf("written where no folder is: %v; want an error", err)
	}
}

// A sender that dies while it gives the ledger a new number starts again, wherever it dies.
func TestADeathWhileTheNumberChangesIsNoCopy(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "x")
		const is = fileID("12-5")
		s, was := stamp{"one", 0}, files{}
		if !first {
			s, was = companionOf(t, path, is)
		}
		if err := s.compare(path, was, is); err != nil {
			t.Errorf("before (first: %v): %v; want no error", first, err)
		}
		r, err := s.prepare(path, is)
		if err != nil {
			t.Fatalf("preparing: %v; want no error", err)
		}
		if err := s.compare(path, was, is); err != nil {
			t.Errorf("before the commit (first: %v): %v; want no error", first, err)
		}
		if err := r.compare(path, r.files, is); err != nil {
			t.Errorf("after the commit (first: %v): %v; want no error", first, err)
		}
		if err := r.done(); err != nil {
			t.Fatalf("done: %v; want no error", err)
		}
		if err := r.compare(path, r.files, is); err != nil {
			t.Errorf("after it (first: %v): %v; want no error", first, err)
		}
		if err := s.compare(path, was, is); !errors.Is(err, ledger.ErrRestored) {
			t.Errorf("the ledger before it (first: %v): %v; want ErrRestored", first, err)
		}
	}
}

// A stamp that cannot be read is neither missing nor another ledger's.
func TestAStampThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.Mkdir(stampPath(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, number := range []int64{1, 2} {
		err := stamp{"one", number}.compare(path, files{}, "")
		if err == nil || errors.Is(err, ledger.ErrRestored) {
			t.Errorf("number %d, its stamp is a folder: %v; want an error that is not ErrRestored", number, err)
		}
	}
}
