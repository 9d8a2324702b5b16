//go:build mutants

package wirelog

import (
	"os"
	"os/exec"
	"testing"
)

// The log of an earlier boot lacks what the kernel had not written when it died.
func TestABelievedBootIsFound(t *testing.T) {
	if os.Getenv("CAMPAIGND_MUTANT") != "" {
		t.Skip("this run has a mutation already")
	}
	for _, on := range []string{"", "boot_id_ignored"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAnotherBootProvesNothing$")
		cmd.Env = append(os.Environ(), "CAMPAIGND_MUTANT="+on)
		if out, err := cmd.CombinedOutput(); (err != nil) != (on != "") {
			t.Errorf("with the mutation %q: %v, want a failure exactly with boot_id_ignored\n%s", on, err, out)
		}
	}
}
