//go:build mutants

package messaging

import (
	"os"
	"os/exec"
	"testing"
)

// Each mutation makes its test fail.
func TestMutationsAreFound(t *testing.T) {
	if os.Getenv("CAMPAIGND_MUTANT") != "" {
		t.Skip("this run has a mutation already")
	}
	for mutation, test := range map[string]string{
		"time_out_is_refusal":   "TestBrokenExchangesProveNoMoreThanTheyCan",
		"5xx_is_refusal":        "TestEveryStatusIsDecided",
		"idempotency_key":       "TestOneSendIsAtMostOneRequestOnReusedConnections",
		"follow_redirects":      "TestRedirectsAreNeverFollowedAndTheKeyStaysHere",
		"wire_log_after_socket": "TestBeforeComesBeforeTheFirstByte",
		"age_unchecked":         "TestALateMessageIsNotSentAndKeepsItsConnection",
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
