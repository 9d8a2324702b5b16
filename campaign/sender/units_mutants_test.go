//go:build mutants

package sender_test

import (
	"os"
	"testing"
	"testing/synctest"

	"campaignd/internal/mutant"
)

// Each mutation breaks one rule of a limit that a sender keeps, and its scene finds it: the units
// of an allowance at the turn of the month, those of a ramp at midnight, a run's own rate.
func TestMutationsOfLimitsAreCaught(t *testing.T) {
	defer mutant.Set(os.Getenv("CAMPAIGND_MUTANT"))
	units := []string{"", "unit_not_charged", "unit_not_refunded", "unit_charged_twice", "unit_marker_ignored"}
	for _, c := range []struct {
		scene     func(*testing.T) []string
		mutations []string
	}{
		{turnOfTheMonth, append(units[:5:5], "unit_reserve_ignored", "unit_wrong_scope")},
		{dayOfARamp, append(units[:5:5], "ramp_wrong_scope")},
		{rateOfARun, []string{"", "run_rate_not_charged", "run_rate_charged_twice", "run_rate_wrong_scope"}},
	} {
		for _, name := range c.mutations {
			if name != "" { // else that of CAMPAIGND_MUTANT, which the gate applies
				mutant.Set(name)
			}
			synctest.Test(t, func(t *testing.T) {
				if wrong := c.scene(t); (len(wrong) > 0) != (name != "") {
					t.Errorf("mutation %q: got %v, want a fault exactly with a mutation", name, wrong)
				}
			})
		}
		mutant.Set(os.Getenv("CAMPAIGND_MUTANT"))
	}
}
