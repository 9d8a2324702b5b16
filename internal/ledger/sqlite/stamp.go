package sqlite

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

// stamp is what the ledger and its companion, a small file beside it, both have: the ledger's id
// and a number. Both get a higher number together (renewal) when a sender opens the ledger, every
// few seconds while it writes, and when it closes it. If the numbers differ, one of the two was
// restored (docs/protocol.md#a-copy-of-an-sqlite-ledger). A copy of Backup has a number below 0.
//
// The numbers of a copy agree if both files were copied, or copied back. Therefore the ledger also
// names the two files that its number was written to.
//
// The numbers grow by chance, so that two copies that are used apart never have the same number. A
// program of before the column files counts by one, compares only which number is lower, and names
// no files; files.number then differs from the stamp's.
type stamp struct {
	id     string
	number int64
}

// files names the files that a number was written to. The ledger keeps it as text beside the
// number.
type files struct {
	number            int64
	ledger, companion fileID
}

func (f files) String() string { return fmt.Sprintf("%d %s %s", f.number, f.ledger, f.companion) }

// parseFiles reads what String wrote. A ledger that no sender of this version has opened has none.
func parseFiles(text string) (f files) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return files{}
	}
	f.ledger, f.companion = fileID(parts[1]), fileID(parts[2])
	f.number, _ = strconv.ParseInt(parts[0], 10, 64)
	return f
}

func stampPath(path string) string { return path + ".stamp" }

// nextPath is the companion of the next number, until the ledger has that number too.
func nextPath(path string) string { return stampPath(path) + ".next" }

// compare returns ledger.ErrRestored when the companion of the ledger at path, or the name of a
// file, shows that the ledger went back in time. was is what the ledger says of its files, and is
// its file's id.
func (s stamp) compare(path string, was files, is fileID) error {
	companion := stampPath(path)
	seen, err := readStamp(companion)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	const remedy = "run `campaignd ledger quarantine`, or with --lost 0s if nothing was sent since "
	switch {
	case s.number < 0:
		return fmt.Errorf("%w: a backup was restored; %sit was made", ledger.ErrRestored, remedy)
	case missing && s.number == 0: // a new ledger, or one whose first sender died before it had a number
		return nil
	case was.number == s.number && !was.ledger.same(is):
		return fmt.Errorf("%w: it is a copy; %sit was copied", ledger.ErrRestored, remedy)
	case was.number == s.number && s.written(companion, was), was.number == s.number && s.written(nextPath(path), was):
		return nil // the second: its sender died before the companion took its name
	case missing:
		return fmt.Errorf("%w: its companion %s is missing; %sit was copied", ledger.ErrRestored, companion, remedy)
	case seen.id != s.id && s.number == 0:
		return fmt.Errorf("%w: this file is new; the ledger of its companion %s is gone: put it or a backup there, "+
			"or move the companion away to begin anew", ledger.ErrRestored, companion)
	case seen.id != s.id:
		return fmt.Errorf("%w: its companion %s belongs to another ledger; run `campaignd ledger quarantine`", ledger.ErrRestored, companion)
	case s.number < seen.number:
		return fmt.Errorf("%w: a backup was restored; %sit was made", ledger.ErrRestored, remedy)
	case was.number == s.number:
		return fmt.Errorf("%w: it was restored with its companion; %sit was copied", ledger.ErrRestored, remedy)
	}
	return nil // an older program was the last sender
}

// written reports whether the file is the companion that got the stamp's number.
func (s stamp) written(file string, was files) bool {
	seen, err := readStamp(file)
	if err != nil || seen != s {
		return false
	}
	id, err := idOf(file)
	return err == nil && id.same(was.companion)
}

func readStamp(path string) (stamp, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return stamp{}, err
	}
	id, number, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return stamp{}, fmt.Errorf("ledger: %s is damaged (want an id and a number): remove it if the ledger was never restored", path)
	}
	return stamp{id, n}, nil
}

// renewal gives the ledger at path and its companion a new number. It has three steps: prepare
// writes the next companion, the caller commits number and files in the ledger, and done gives the
// companion its name. A process that dies between two of them leaves a ledger whose number one of
// the two companions has.
type renewal struct {
	path string
	stamp
	files
}

// prepare makes a companion for a number above s.number. It is on the disk when prepare returns.
func (s stamp) prepare(path string, of fileID) (r renewal, err error) {
	var random [4]byte
	_, _ = rand.Read(random[:]) // crypto/rand never fails
	s.number += 1 + int64(binary.LittleEndian.Uint32(random[:])>>8)
	next := nextPath(path)
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	f, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return r, err
	}
	if _, err = fmt.Fprintf(f, "%s %d\n", s.id, s.number); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return r, err
	}
	id, err := idOf(next)
	if err != nil {
		return r, err
	}
	return renewal{path, s, files{s.number, of, id}}, syncFolder(filepath.Dir(path))
}

// done gives the companion its name after the ledger's commit.
func (r renewal) done() error { return os.Rename(nextPath(r.path), stampPath(r.path)) }

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
