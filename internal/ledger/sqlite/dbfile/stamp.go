// Package dbfile knows the file of an SQLite ledger: where it may be, how a connection to it is
// named, which bytes of a page are free, how a backup of it is written, and by its stamp whether it
// is a copy or was restored (docs/protocol.md#a-copy-of-an-sqlite-ledger).
package dbfile

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"campaignd/internal/ledger"
)

// Stamp is what the ledger and its companion, a small file beside it, both have: the ledger's id
// and a number. Both get a higher number together (Renewal) when a sender opens the ledger, every
// few seconds while it writes, and when it closes it. If the numbers differ, one of the two was
// restored (docs/protocol.md#a-copy-of-an-sqlite-ledger). A copy of Backup has a number below 0.
//
// The numbers of a copy agree if both files were copied, or copied back. Therefore the ledger also
// names the two files that its number was written to.
//
// The numbers grow by chance, so that two copies that are used apart never have the same number. A
// program from before the column files counts by one, compares only which number is lower, and
// names no files; Files.number then differs from the stamp's.
type Stamp struct {
	ID     string
	Number int64
}

// Files names the files that a number was written to. The ledger keeps it as text beside the
// number.
type Files struct {
	number            int64
	ledger, companion ID
}

func (f Files) String() string { return fmt.Sprintf("%d %s %s", f.number, f.ledger, f.companion) }

// ParseFiles reads what String wrote. A ledger that no sender of this version has opened has none.
func ParseFiles(text string) (f Files) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return Files{}
	}
	f.ledger, f.companion = ID(parts[1]), ID(parts[2])
	f.number, _ = strconv.ParseInt(parts[0], 10, 64)
	return f
}

// StampPath is the companion of the ledger file at path.
func StampPath(path string) string { return path + ".stamp" }

// nextPath is the companion of the next number, until the ledger has that number too.
func nextPath(path string) string { return StampPath(path) + ".next" }

// Compare returns ledger.ErrRestored when the companion of the ledger at path, or the name of a
// file, shows that the ledger went back in time. was is what the ledger says of its files, and is
// its file's id.
func (s Stamp) Compare(path string, was Files, is ID) error {
	companion := StampPath(path)
	seen, err := ReadStamp(companion)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	const remedy = "run `campaignd ledger quarantine`, or with --lost 0s if nothing was sent since "
	switch {
	case s.Number < 0:
		return fmt.Errorf("%w: a backup was restored; %sit was made", ledger.ErrRestored, remedy)
	case missing && s.Number == 0: // a new ledger, or one whose first sender died before it had a number
		return nil
	case was.number == s.Number && !was.ledger.Same(is):
		return fmt.Errorf("%w: it is a copy; %sit was copied", ledger.ErrRestored, remedy)
	case was.number == s.Number && s.written(companion, was), was.number == s.Number && s.written(nextPath(path), was):
		return nil // the second: its sender died before the companion took its name
	case missing:
		return fmt.Errorf("%w: its companion %s is missing; %sit was copied", ledger.ErrRestored, companion, remedy)
	case seen.ID != s.ID && s.Number == 0:
		return fmt.Errorf("%w: this file is new; the ledger of its companion %s is gone: put it or a backup there, "+
			"or move the companion away to begin anew", ledger.ErrRestored, companion)
	case seen.ID != s.ID:
		return fmt.Errorf("%w: its companion %s belongs to another ledger; run `campaignd ledger quarantine`", ledger.ErrRestored, companion)
	case s.Number < seen.Number:
		return fmt.Errorf("%w: a backup was restored; %sit was made", ledger.ErrRestored, remedy)
	case was.number == s.Number:
		return fmt.Errorf("%w: it was restored with its companion; %sit was copied", ledger.ErrRestored, remedy)
	}
	return nil // an older program was the last sender
}

// written reports whether the file is the companion that got the stamp's number.
func (s Stamp) written(file string, was Files) bool {
	seen, err := ReadStamp(file)
	if err != nil || seen != s {
		return false
	}
	id, err := IDOf(file)
	return err == nil && id.Same(was.companion)
}

// ReadStamp reads a companion. The error of a missing one wraps fs.ErrNotExist.
func ReadStamp(path string) (Stamp, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Stamp{}, err
	}
	id, number, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return Stamp{}, fmt.Errorf("ledger: %s is damaged (want an id and a number): remove it if the ledger was never restored", path)
	}
	return Stamp{id, n}, nil
}

// Renewal gives the ledger at path and its companion a new number. It has three steps: Prepare
// writes the next companion, the caller commits number and files in the ledger, and Done gives the
// companion its name. A process that dies between two of them leaves a ledger whose number one of
// the two companions has.
type Renewal struct {
	path string
	Stamp
	Files
}

// Prepare makes a companion for a number above s.Number. It is on the disk when Prepare returns.
func (s Stamp) Prepare(path string, of ID) (r Renewal, err error) {
	var random [4]byte
	_, _ = rand.Read(random[:]) // crypto/rand never fails
	s.Number += 1 + int64(binary.LittleEndian.Uint32(random[:])>>8)
	next := nextPath(path)
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	f, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return r, err
	}
	if _, err = fmt.Fprintf(f, "%s %d\n", s.ID, s.Number); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return r, err
	}
	id, err := IDOf(next)
	if err != nil {
		return r, err
	}
	return Renewal{path, s, Files{s.Number, of, id}}, SyncFolder(filepath.Dir(path))
}

// Done gives the companion its name after the ledger's commit.
func (r Renewal) Done() error { return os.Rename(nextPath(r.path), StampPath(r.path)) }

// SyncFolder makes the names in a folder durable.
func SyncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
