package campaign

import "testing"

// Each pause comes with the command that ends it.
func TestEveryPauseNamesItsRemedy(t *testing.T) {
	for _, reason := range PauseReasons() {
		if got, want := reason.Remedy("spring-7"), "`campaignd resume spring-7` resumes it"; got != want {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
}
