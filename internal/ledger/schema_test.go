package ledger

import (
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
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

// Programs of two branches may have given a ledger migrations in an order in which one is left out.
func TestAMissingMigrationIsToldAndNeverPassedOver(t *testing.T) {
	t.Parallel()
	known := []*goose.Source{{Version: 31}, {Version: 32}, {Version: 34}}
	for _, c := range []struct {
		applied []int64
		says    string
	}{
		{nil, ""},
		{[]int64{0, 31}, ""},
		{[]int64{0, 31, 32, 34}, ""},
		{[]int64{0, 31, 32, 34, 35}, ""}, // a newer program of the generation
		{[]int64{0, 31, 34}, "schema (34) lacks the earlier migration 32"},
		{[]int64{0, 31, 32, 35}, "schema (35) lacks the earlier migration 34"},
	} {
		have, want, err := Newest(c.applied, known)
		if want != 34 || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("Newest(%v) = %d, %d, %v; want 34 known and an error with %q", c.applied, have, want, err, c.says)
		}
	}
}
