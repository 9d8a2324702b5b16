package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"campaignd/internal/ledger"
	"campaignd/internal/spelling"
)

// stamp is the ledger's identity and how often a sender opened it. The ledger has one, and so
// does a small file beside it. A ledger that is behind its file was restored from a backup, and one
// without a file was copied (docs/protocol.md#when-the-ledger-goes-back-in-time). A copy of Backup
// has a count below 0: the ledger may have sent on in the same opening, which the count alone does
// not show. A snapshot of the whole volume restores ledger and file, and the stamp does not show
// it.
type stamp struct {
	id    string
	opens int64
}

func stampPath(path string) string { return path + ".stamp" }

// compare returns ledger.ErrRestored when the file at path, beside the ledger, shows that the
// ledger went back in time.
func (s stamp) compare(path string) error {
	seen, err := readStamp(path)
	switch {
	case s.opens < 0:
		return fmt.Errorf("%w: a backup was restored; run `campaignd ledger quarantine`, or with --lost 0s if nothing was sent since "+
			"it was made", ledger.ErrRestored)
	case errors.Is(err, fs.ErrNotExist):
		if s.opens <= 1 { // a new ledger, or one whose first sender died before it wrote the file
			return nil
		}
		return fmt.Errorf("%w: its companion %s is missing; run `campaignd ledger quarantine`, "+
			"or with --lost 0s if nothing was sent since it was copied", ledger.ErrRestored, path)
	case err != nil:
		return err
	case seen.id != s.id:
		return fmt.Errorf("%w: its companion %s belongs to another ledger; run `campaignd ledger quarantine`", ledger.ErrRestored, path)
	case s.opens < seen.opens:
		return fmt.Errorf("%w: a backup was restored (it was opened %s, its companion %s counted %d); "+
			"run `campaignd ledger quarantine`", ledger.ErrRestored, spelling.Count(s.opens, "time", "times"), path, seen.opens)
	}
	return nil
}

func readStamp(path string) (stamp, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return stamp{}, err
	}
	id, opens, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	n, err := strconv.ParseInt(opens, 10, 64)
	if err != nil {
		return stamp{}, fmt.Errorf("ledger: %s is damaged (want an id and a number): remove it if the ledger was never restored", path)
	}
	return stamp{id, n}, nil
}

// write replaces the file. The new content is durable before the file takes its name.
func (s stamp) write(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".stamp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename
	_, err = fmt.Fprintf(f, "%s %d\n", s.id, s.opens)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
