package campaign

import (
	"strings"
	"testing"
)

// Each reason of a pause comes with the command that ends it.
func TestEveryPauseNamesItsRemedy(t *testing.T) {
	for _, reason := range []PauseReason{PausedByOperator, PausedByCanary, PausedByBreaker, PausedByTemplate, PausedByNumber, PausedByAccount,
		PausedByAllowance, PausedByLedger} {
		got := reason.Remedy("spring-7")
		if !strings.Contains(got, "`campaignd resume spring-7`") {
			t.Errorf("%s: got %q, want `campaignd resume spring-7` in it", reason, got)
		}
		if strings.Contains(got, "by itself") != reason.Self() {
			t.Errorf("%s: got %q, want \"by itself\" in it: %t", reason, got, reason.Self())
		}
	}
	const want = "it goes on by itself when the service approves the template again and `campaignd serve` runs to receive that, " +
		"unless the template was disabled or deleted; otherwise `campaignd resume spring-7` lets it go on"
	if got := PausedByTemplate.Remedy("spring-7"); got != want {
		t.Errorf("Remedy of a template's pause = %q, want %q", got, want)
	}
}
