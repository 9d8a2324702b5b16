//go:build mutants

package messaging

import (
	"os"
	"os/exec"
	"testing"
)

// Each planted mistake must make a test fail.
func TestPlantedMistakesAreFound(t *testing.T) {
	if os.Getenv("CAMPAIGND_MUTANT") != "" {
		t.Skip("inside a planted run")
	}
	for mistake, test := range map[string]string{
		"time_out_is_refusal": "TestBrokenExchangesProveNoMoreThanTheyCan",
		"5xx_is_refusal":      "TestEveryStatusIsDecided",
		"idempotency_key":     "TestOneSendIsAtMostOneRequestOnReusedConnections",
		"follow_redirects":    "TestRedirectsAreNeverFollowedAndTheKeyStaysHere",
	} {
		for _, plant := range []string{"", mistake} {
			cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
			cmd.Env = append(os.Environ(), "CAMPAIGND_MUTANT="+plant)
			out, err := cmd.CombinedOutput()
			if (err != nil) != (plant != "") {
				t.Errorf("%s with %q planted: %v, want a failure exactly when it is\n%s", test, plant, err, out)
			}
		}
	}
}
