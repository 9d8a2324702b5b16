//go:build mutants

package sender_test

import (
	"os"
	"testing"
	"testing/synctest"

	"campaignd/internal/mutant"
)

// Each mutation breaks one rule of the units that a sender draws, and the turn of the month finds
// it.
func TestMutationsOfUnitsAreCaught(t *testing.T) {
	defer mutant.Set(os.Getenv("CAMPAIGND_MUTANT"))
	for _, name := range []string{"", "unit_not_charged", "unit_not_refunded", "unit_charged_twice", "unit_marker_ignored",
		"unit_reserve_ignored", "unit_wrong_scope"} {
		if name != "" { // else that of CAMPAIGND_MUTANT, which the gate applies
			mutant.Set(name)
		}
		synctest.Test(t, func(t *testing.T) {
			if wrong := turnOfTheMonth(t); (len(wrong) > 0) != (name != "") {
				t.Errorf("mutation %q: got %v, want a fault exactly with a mutation", name, wrong)
			}
		})
	}
}
