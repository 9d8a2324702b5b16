package ledger

import (
	"fmt"

	"campaignd/campaign"
)

// CheckSchema compares the version of a ledger's schema with this program's: older says that it must
// be migrated, which a reader cannot. remedy is what to do instead of installing a newer program.
func CheckSchema(have, want int64, readOnly bool, remedy string) (older bool, err error) {
	switch {
	case have > want:
		return false, fmt.Errorf("%w (schema %d, this program knows %d): install that version, or %s", campaign.ErrNewer, have, want, remedy)
	case have < want && readOnly:
		return true, fmt.Errorf("its schema (%d) is older than this program's (%d): open it once with `campaignd serve` or `run`", have, want)
	}
	return have < want, nil
}
