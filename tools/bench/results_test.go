//go:build unix

package main

import "testing"

func TestAFigureIsTheMedianBetweenItsExtremes(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   figure
	}{
		{nil, figure{}},
		{[]float64{3}, figure{3, 3, 3}},
		{[]float64{9, 1, 2}, figure{2, 1, 9}},
		{[]float64{4, 1, 2, 9}, figure{3, 1, 9}},
	} {
		if got := of(c.values); got != c.want {
			t.Errorf("of(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// A ratio divides the two values of one repetition, not the medians, because other load slows both
// sides of a repetition.
func TestARatioIsTakenOfNeighbours(t *testing.T) {
	bare := []sent{{PerSecond: 100}, {PerSecond: 10}, {PerSecond: 50}}
	ours := []sent{{PerSecond: 60}, {PerSecond: 5}, {PerSecond: 20}}
	if got, want := ratio(ours, bare, sent.perSecond), (figure{0.5, 0.4, 0.6}); got != want {
		t.Errorf("ratio = %v, want %v", got, want)
	}
}

func TestMemoryGrowsByTheRowsBetweenTwoRuns(t *testing.T) {
	r := &results{Memory: []memoryUse{{Rows: 100_000, Peak: 80 << 20}}}
	if _, known := r.growth(); known {
		t.Error("growth of one run is known, want it not known")
	}
	r.Memory = append(r.Memory, memoryUse{Rows: 1_000_000, Peak: 80<<20 + 16*900_000})
	if got, known := r.growth(); !known || got != 16 {
		t.Errorf("growth = %v, known %v, want 16 and true", got, known)
	}
}
