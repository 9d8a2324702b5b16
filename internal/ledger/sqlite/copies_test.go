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

// shelf is a folder with a ledger, and the copies that a test makes of its files.
type shelf struct {
	*testing.T
	dir, path string
}

func newShelf(t *testing.T) shelf {
	dir := t.TempDir()
	return shelf{t, dir, filepath.Join(dir, "test.db")}
}

// session opens the ledger for sending, changes it, calls f, and closes it.
func (s shelf) session(f func(l *Ledger)) {
	s.Helper()
	l, err := Open(s.Context(), s.path, ledger.Options{Sender: true})
	if err != nil {
		s.Fatalf("opening for sending: %v; want no error", err)
	}
	ledgertest.Load(s.T, l, 10)
	if _, err := l.checks.ExecContext(s.Context(), sqlCheckpoint); err != nil {
		s.Fatal(err)
	}
	if f != nil {
		f(l)
		ledgertest.Load(s.T, l, 10)
	}
	if err := l.Close(); err != nil {
		s.Fatal(err)
	}
}

// read returns the files of the ledger with the suffixes.
func (s shelf) read(suffixes ...string) map[string][]byte {
	s.Helper()
	all := map[string][]byte{}
	for _, suffix := range suffixes {
		b, err := os.ReadFile(s.path + suffix)
		if err != nil {
			s.Fatal(err)
		}
		all[suffix] = b
	}
	return all
}

// write puts files in the folder; an existing file keeps its inode, as with cp.
func (s shelf) write(all map[string][]byte) {
	s.Helper()
	for suffix, b := range all {
		if err := os.WriteFile(s.path+suffix, b, 0o600); err != nil {
			s.Fatal(err)
		}
	}
}

// replace puts files in the folder, each in the place of the old one, as rsync does.
func (s shelf) replace(all map[string][]byte) {
	s.Helper()
	for suffix, b := range all {
		if err := os.WriteFile(s.path+suffix+"~", b, 0o600); err != nil {
			s.Fatal(err)
		}
		if err := os.Rename(s.path+suffix+"~", s.path+suffix); err != nil {
			s.Fatal(err)
		}
	}
}

// refused fails the test unless a sender is refused until the quarantine, and only that long.
func (s shelf) refused(what string) {
	s.Helper()
	if l, err := Open(s.Context(), s.path, ledger.Options{Sender: true}); !errors.Is(err, ledger.ErrRestored) {
		s.Errorf("%s: opened for sending: %v; want ErrRestored", what, err)
		if err == nil {
			l.Close()
		}
		return
	}
	l, err := Open(s.Context(), s.path, ledger.Options{Sender: true, AcceptRestored: true})
	if err != nil {
		s.Fatalf("%s: opened for the quarantine: %v; want no error", what, err)
	}
	if _, err := l.Quarantine(s.Context(), 0, nil, time.Now()); err != nil {
		s.Fatalf("%s: the quarantine: %v; want no error", what, err)
	}
	if err := l.Close(); err != nil {
		s.Fatal(err)
	}
	s.session(nil)
}

// A copy of a ledger does not know what its original sends, whichever files were copied, and
// whichever way they came back.
func TestACopiedLedgerIsRefused(t *testing.T) {
	t.Parallel()
	one, both := []string{""}, []string{"", ".stamp"}
	t.Run("While the first sender runs", func(t *testing.T) {
		t.Parallel()
		for _, of := range [][]string{one, both} {
			s, other := newShelf(t), newShelf(t)
			s.session(func(*Ledger) {
				other.write(s.read(of...))
				other.refused("a copy of a running ledger")
			})
			s.session(nil) // the original goes on
		}
	})
	t.Run("After the sender has ended", func(t *testing.T) {
		t.Parallel()
		for _, of := range [][]string{one, both} {
			s, other := newShelf(t), newShelf(t)
			s.session(nil)
			other.write(s.read(of...))
			other.refused("a copy of a ledger at rest")
			s.session(nil)
		}
	})
	for name, back := range map[string]func(s shelf, all map[string][]byte){"In place": shelf.write, "By new files": shelf.replace} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, of := range [][]string{one, both} {
				s := newShelf(t)
				var during map[string][]byte
				s.session(func(*Ledger) { during = s.read(of...) })
				back(s, during)
				s.refused("a copy of the same opening")

				s = newShelf(t)
				s.session(nil)
				before := s.read(of...)
				s.session(nil)
				back(s, before)
				s.refused("a copy of an earlier opening")
			}
		})
	}
	t.Run("Of the time since the last renewal alone", func(t *testing.T) {
		t.Parallel()
		s := newShelf(t)
		l, err := Open(t.Context(), s.path, ledger.Options{Sender: true})
		if err != nil {
			t.Fatal(err)
		}
		ledgertest.Load(t, l, 10)
		if _, err := l.checks.ExecContext(t.Context(), sqlCheckpoint); err != nil {
			t.Fatal(err)
		}
		during := s.read(both...)
		ledgertest.Load(t, l, 10)
		if err := l.renew(t.Context()); err != nil {
			t.Fatalf("renewing: %v; want no error", err)
		}
		if err := l.lock.Release(); err != nil {
			t.Fatal(err)
		}
		l.lock = nil // it ends without a renewal, as a killed sender does
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		s.write(during)
		s.refused("a copy of the opening that was killed")
	})
}

// A ledger that was moved is the same file.
func TestAMovedLedgerStarts(t *testing.T) {
	t.Parallel()
	s, to := newShelf(t), newShelf(t)
	s.session(nil)
	for _, suffix := range []string{"", ".stamp"} {
		if err := os.Rename(s.path+suffix, to.path+suffix); err != nil {
			t.Fatal(err)
		}
	}
	to.session(nil)
	if err := os.Rename(to.path, s.path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), s.path, ledger.Options{Sender: true}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("moved without its companion: %v; want ErrRestored", err)
	}
	// In the place of the file that was moved away a new one is made, which knows nothing of it.
	_, err := Open(t.Context(), to.path, ledger.Options{Sender: true})
	if want := "put it or a backup there"; !errors.Is(err, ledger.ErrRestored) || !strings.Contains(err.Error(), want) {
		t.Errorf("a new file beside the companion: %v; want ErrRestored with %q", err, want)
	}
}

// A ledger has one lock and one companion, by whatever name it is opened.
func TestALedgerHasOneLockByAllItsNames(t *testing.T) {
	t.Parallel()
	for name, exists := range map[string]bool{"An existing file": true, "A new file": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, other := newShelf(t), newShelf(t)
			if exists {
				s.session(nil)
			}
			folder, file, relative := filepath.Join(other.dir, "folder"), filepath.Join(other.dir, "file.db"), filepath.Join(s.dir, "relative.db")
			if err := errors.Join(os.Symlink(s.dir, folder), os.Symlink(filepath.Join(folder, "test.db"), file),
				os.Symlink("test.db", relative)); err != nil {
				t.Fatal(err)
			}
			names := []string{s.path, filepath.Join(folder, "test.db"), file, relative}
			for _, first := range names {
				l, err := Open(t.Context(), first, ledger.Options{Sender: true})
				if err != nil {
					t.Fatalf("%s: %v; want no error", first, err)
				}
				for _, second := range names {
					if again, err := Open(t.Context(), second, ledger.Options{Sender: true}); !errors.Is(err, campaign.ErrLocked) {
						t.Errorf("%s beside %s: %v; want ErrLocked", second, first, err)
						if err == nil {
							again.Close()
						}
					}
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(other.dir, "*")); len(left) != 2 {
				t.Errorf("beside the links there are %v; want the two links alone", left)
			}
		})
	}
	t.Run("A hard link", func(t *testing.T) {
		t.Parallel()
		s, other := newShelf(t), newShelf(t)
		s.session(func(*Ledger) {
			if err := os.Link(s.path, other.path); err != nil {
				t.Fatal(err)
			}
			const want = "has 2 names (hard links)"
			if _, err := Open(t.Context(), other.path, ledger.Options{Sender: true}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("opened by its second name: %v; want an error with %q", err, want)
			}
		})
	})
}

// In an earlier version the companion was named by the link.
func TestACompanionBesideALinkIsTaken(t *testing.T) {
	t.Parallel()
	s, other := newShelf(t), newShelf(t)
	s.session(nil)
	if err := errors.Join(os.Symlink(s.path, other.path), os.Rename(dbfile.StampPath(s.path), dbfile.StampPath(other.path))); err != nil {
		t.Fatal(err)
	}
	other.session(nil)
	s.session(nil)
}
