//go:build long

package throttle_test

import (
	"testing"
	"time"
)

// The table of docs/limits.md#slowing-down. A service that throttles at random, whatever the rate,
// keeps at least 60 % of its pace. A limit of half the pace is used to 88 % or more, with at most
// 1.5 % refused.
func TestNoiseKeepsThePaceAndALimitIsFound(t *testing.T) {
	slow := [2]time.Duration{time.Second, 3 * time.Second}
	quick := [2]time.Duration{20 * time.Millisecond, 50 * time.Millisecond}
	for _, c := range []struct {
		name           string
		service        service
		pace, possible float64
		replicas       int
		used, refused  float64 // at least, at most; 0: only shown
	}{
		{"random 0.5 %", service{random: 0.005}, 68.4, 68.4, 1, 0.60, 0},
		{"random 1 %", service{random: 0.01}, 68.4, 68.4, 1, 0.60, 0},
		{"random 1 %", service{random: 0.01}, 68.4, 68.4, 4, 0.60, 0},
		{"random 1 %", service{random: 0.01}, 12.6, 12.6, 1, 0.60, 0},
		{"random 1 %", service{random: 0.01}, 902.5, 902.5, 4, 0.60, 0},
		{"random 1 %, slow", service{random: 0.01, late: slow}, 68.4, 68.4, 4, 0.60, 0},
		{"random 3 %", service{random: 0.03}, 68.4, 68.4, 1, 0.60, 0},
		{"random 3 %", service{random: 0.03}, 68.4, 68.4, 4, 0.60, 0},
		{"random 5 %", service{random: 0.05}, 68.4, 68.4, 4, 0.60, 0},
		{"limit at half", service{limit: still(34.2)}, 68.4, 34.2, 1, 0.88, 0.015},
		{"limit at half", service{limit: still(34.2)}, 68.4, 34.2, 4, 0.88, 0.015},
		{"limit at half, quick", service{limit: still(34.2), late: quick}, 68.4, 34.2, 1, 0.88, 0.015},
		{"limit at half, slow", service{limit: still(34.2), late: slow}, 68.4, 34.2, 4, 0.88, 0},
		{"limit at half", service{limit: still(451)}, 902.5, 451, 4, 0.88, 0.015},
		{"limit at half", service{limit: still(6.3)}, 12.6, 6, 1, 0.88, 0},
		{"limit at 80 %", service{limit: still(54.7)}, 68.4, 54.7, 4, 0.88, 0.015},
		{"limit of 20/s", service{limit: still(20)}, 68.4, 20, 4, 0.88, 0.015},
		{"limit at half, random 1 %", service{limit: still(34.2), random: 0.01}, 68.4, 34.2, 4, 0.60, 0},
	} {
		used, least, refused, most, first := trials(t, c.service, c.pace, c.possible, c.replicas)
		t.Logf("%-26s pace %5.1f x%d: used %5.1f %% (least %5.1f), refused %4.2f %% (most %4.2f), first 30 s used %5.1f %%",
			c.name, c.pace, c.replicas, 100*used, 100*least, 100*refused, 100*most, 100*first)
		if least < c.used {
			t.Errorf("%s, pace %v, %d replicas: used %.1f %%, want at least %.0f", c.name, c.pace, c.replicas, 100*least, 100*c.used)
		}
		if c.refused > 0 && most > c.refused {
			t.Errorf("%s, pace %v, %d replicas: refused %.2f %%, want at most %.1f", c.name, c.pace, c.replicas, 100*most, 100*c.refused)
		}
	}
}
