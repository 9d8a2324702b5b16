//go:build long

package sender_test

import (
	"strings"
	"testing"
)

// TestSimulationKeepsWhatItFound runs the seeds that once failed.
func TestSimulationKeepsWhatItFound(t *testing.T) {
	for _, r := range regressions {
		t.Run(strings.ReplaceAll(r.found, " ", "_"), func(t *testing.T) {
			t.Parallel()
			examine(t, r.seed, false, nil)
		})
	}
}
