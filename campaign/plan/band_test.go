package plan

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// One run does not tell how far runs differ: in eight of ten draws the next one's part lies between
// 1/4.5 and 4.5 times the observed part.
func TestOneObservedRunGivesAWideBand(t *testing.T) {
	past, parts := Past{Dropped: AverageOf([]float64{0.01})}, make([]float64, 10_000)
	for i := range parts {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		parts[i] = past.drawn(r, 1e9, 1).dropped
	}
	slices.Sort(parts)
	for _, c := range []struct{ at, want float64 }{{0.1, 0.01 / 4.52}, {0.5, 0.01}, {0.9, 0.0452}} {
		if got := parts[int(c.at*float64(len(parts)))]; got < 0.85*c.want || got > 1.15*c.want {
			t.Errorf("the %.0fth percentile is %.5f, want about %.5f", 100*c.at, got, c.want)
		}
	}
	if several := AverageOf([]float64{0.01, 0.02, 0.03}); several.Once || several.Deviation <= 0 {
		t.Errorf("three runs: got %+v, want the deviation between them", several)
	}
}
