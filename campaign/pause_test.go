package campaign

import (
	"strings"
	"testing"
)

// Whoever reads that a run is paused reads what ends the pause.
func TestEveryPauseNamesItsRemedy(t *testing.T) {
	for _, reason := range []PauseReason{PausedByOperator, PausedByCanary, PausedByBreaker, PausedByTemplate, PausedByNumber, PausedByAccount, PausedByAllowance, PausedByLedger} {
		got := reason.Remedy("spring-7")
		if !strings.Contains(got, "`campaignd resume spring-7`") {
			t.Errorf("%s: %q names no command", reason, got)
		}
		if strings.Contains(got, "by itself") != reason.Self() {
			t.Errorf("%s: %q, and Self is %t", reason, got, reason.Self())
		}
	}
}
