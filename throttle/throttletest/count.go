package throttletest

import (
	"slices"
	"time"
)

// WorstSecond is the largest number of instants in any half-open second [t, t+1s).
// It sorts instants.
func WorstSecond(instants []time.Time) int {
	slices.SortFunc(instants, time.Time.Compare)
	worst, lo := 0, 0
	for hi, t := range instants {
		for t.Sub(instants[lo]) >= time.Second {
			lo++
		}
		worst = max(worst, hi-lo+1)
	}
	return worst
}

// LongestSilence is the longest time between two consecutive instants. It sorts instants.
func LongestSilence(instants []time.Time) time.Duration {
	slices.SortFunc(instants, time.Time.Compare)
	var longest time.Duration
	for i := 1; i < len(instants); i++ {
		longest = max(longest, instants[i].Sub(instants[i-1]))
	}
	return longest
}

// MeanRate is the number of intervals per second between the first and the last instant;
// 0 for fewer than two. It sorts instants.
func MeanRate(instants []time.Time) float64 {
	if len(instants) < 2 {
		return 0
	}
	slices.SortFunc(instants, time.Time.Compare)
	return float64(len(instants)-1) / instants[len(instants)-1].Sub(instants[0]).Seconds()
}
