package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"slices"

	"campaignd/campaign"

	"github.com/pressly/goose/v3"
)

// generation is how many versions of the schema belong together. Within one generation (25 and 26,
// 1000 and 1001) a migration only adds: tables, indexes, and columns whose default is right for the
// rows that an older program writes. That program goes on beside the newer schema and may be
// started on it, which a rolling upgrade and a way back need (docs/operations.md#upgrading). A
// migration that takes something away begins the next generation.
const generation = 1000

// oldest is the version of the one migration that makes a whole ledger. Versions below it were
// never released, and nothing upgrades them.
const oldest = 31

// CheckSchema compares the version of a ledger's schema with this program's: older says that it
// must be migrated, which a reader cannot. A newer schema of the same generation is taken as it is;
// have is 0 without one. remedy is what to do instead of installing a newer program.
func CheckSchema(have, want int64, readOnly bool, remedy string) (older bool, err error) {
	switch {
	case have > 0 && have < oldest:
		return false, fmt.Errorf("its schema (%d) is of a version before the first release, which no program upgrades: %s", have, remedy)
	case have/generation > want/generation:
		return false, fmt.Errorf("%w (schema %d, this program knows %d): install that version, or %s", campaign.ErrNewer, have, want, remedy)
	case have < want && readOnly:
		return true, fmt.Errorf("its schema (%d) is older than this program's (%d): open it once with `campaignd serve` or `run`", have, want)
	}
	return have < want, nil
}

// Newest returns the newest of the versions that are in a ledger. It returns an error when an older
// one of those that the program knows is not there: nothing would ever add it.
func Newest(applied []int64, known []*goose.Source) (have, want int64, err error) {
	for _, version := range applied {
		have = max(have, version)
	}
	for _, s := range known {
		want = max(want, s.Version)
		if s.Version < have && have >= oldest && !slices.Contains(applied, s.Version) {
			err = fmt.Errorf("its schema (%d) lacks the earlier migration %d: a program made it whose migrations were not those of this one; "+
				"install that program, or go back to a backup", have, s.Version)
		}
	}
	return have, want, err
}

// Migrations returns the migrations in dir, one for each file NNNNN_name.sql. The whole file is
// executed at once in the transaction of its migration, so a file has no way down. Goose can read
// the files itself, but takes 4 MB for each of them whenever a ledger is opened.
func Migrations(dir fs.FS) ([]*goose.Migration, error) {
	names, err := fs.Glob(dir, "*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]*goose.Migration, len(names))
	for i, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		list[i] = goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, string(text)); err != nil {
				return fmt.Errorf("migration %s: %w", name, err)
			}
			return nil
		}}, nil)
	}
	return list, nil
}
