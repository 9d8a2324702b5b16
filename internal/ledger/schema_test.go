package ledger

import (
	"strings"
	"testing"
)

// The first migration makes a whole ledger, so it cannot run on one that an earlier version made.
func TestASchemaBeforeTheFirstReleaseIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have     int64
		readOnly bool
		older    bool
		says     string
	}{
		{1, false, false, "schema (1) is of a version before the first release, which no program upgrades: open another file"},
		{30, true, false, "schema (30) is of a version before the first release"},
		{0, false, true, ""},
		{0, true, true, "is older than this program's"},
		{31, false, true, ""},
		{40, false, false, ""},
	} {
		older, err := CheckSchema(c.have, 40, c.readOnly, "open another file")
		if older != c.older || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("CheckSchema(%d, 40, %t) = %t, %v; want %t and an error with %q", c.have, c.readOnly, older, err, c.older, c.says)
		}
	}
}
