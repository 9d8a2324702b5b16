package ledger

import (
	"fmt"

	"campaignd/campaign"
)

// generation is how many versions of the schema belong together. Within one generation (25 and 26,
// 1000 and 1001) a migration only adds: tables, indexes, and columns whose default is right for the
// rows that an older program writes. That program goes on beside the newer schema and may be
// started on it, which a rolling upgrade and a way back need (docs/operations.md#upgrading). A
// migration that takes something away begins the next generation. Version 18 changed a key before
// the first release: programs of an older schema cannot go on beside it.
const generation = 1000

// CheckSchema compares the version of a ledger's schema with this program's: older says that it
// must be migrated, which a reader cannot. A newer schema of the same generation is taken as it is.
// remedy is what to do instead of installing a newer program.
func CheckSchema(have, want int64, readOnly bool, remedy string) (older bool, err error) {
	switch {
	case have/generation > want/generation:
		return false, fmt.Errorf("%w (schema %d, this program knows %d): install that version, or %s", campaign.ErrNewer, have, want, remedy)
	case have < want && readOnly:
		return true, fmt.Errorf("its schema (%d) is older than this program's (%d): open it once with `campaignd serve` or `run`", have, want)
	}
	return have < want, nil
}
