//go:build mutants

package sender_test

import (
	"os"
	"os/exec"
	"testing"
)

// Each mutation of the holds makes its test fail.
func TestMutationsOfTheHoldsAreFound(t *testing.T) {
	if os.Getenv("CAMPAIGND_MUTANT") != "" {
		t.Skip("this run has a mutation already")
	}
	for mutation, test := range map[string]string{
		"hold_scope_too_wide": "TestARefusalHoldsExactlyWhatItIsAbout",
		"no_half_open":        "TestABreakerSurvivesARestart",
		"granted_kept":        "TestWhatWasGrantedGoesBackAndIsCheckedAgain",
	} {
		for _, on := range []string{"", mutation} {
			cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
			cmd.Env = append(os.Environ(), "CAMPAIGND_MUTANT="+on)
			out, err := cmd.CombinedOutput()
			if (err != nil) != (on != "") {
				t.Errorf("%s with the mutation %q: %v, want a failure exactly with %q\n%s", test, on, err, mutation, out)
			}
		}
	}
}
