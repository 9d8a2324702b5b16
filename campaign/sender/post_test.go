package sender

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/throughput"
)

func TestSlotsThatLieCloseShareTheInstantOfTheLast(t *testing.T) {
	for _, tt := range []struct {
		name     string
		interval time.Duration
		n        int
		places   int
		want     []int
	}{
		{"17.1/s: each alone", 58480 * time.Microsecond, 3, 9, []int{0, 1, 2}},
		{"68.4/s: two and two", 14620 * time.Microsecond, 5, 9, []int{1, 1, 3, 3, 4}},
		{"200/s: four and four", 5 * time.Millisecond, 6, 9, []int{3, 3, 3, 3, 5, 5}},
		{"200/s with three places: three and three", 5 * time.Millisecond, 7, 3, []int{2, 2, 2, 5, 5, 5, 6}},
		{"a lease of one", 14620 * time.Microsecond, 1, 9, []int{0}},
		{"no pace worth the name", time.Microsecond, 4, 9, []int{3, 3, 3, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			leased := throttle.Slots{First: time.Now(), Interval: tt.interval, N: tt.n}
			var got []int
			c := -1
			for i := range tt.n {
				if i > c {
					c = companion(leased, i, tt.places)
				}
				if late := leased.At(c).Sub(leased.At(i)); late < 0 || late > coalesceWindow {
					t.Errorf("slot %d is used %v after its instant, want 0 to %v", i, late, coalesceWindow)
				}
				got = append(got, c)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("used with slots %v, want %v", got, tt.want)
			}
		})
	}
}

// The wait of slots for each other, and the lateness of a wake-up, are within the part that the
// pace keeps back.
func TestNoSecondHasMoreThanTheLimitAlthoughSlotsShare(t *testing.T) {
	for _, number := range []throughput.Number{
		{Limit: throughput.CoexistenceLimit}, {Limit: throughput.CoexistenceLimit, Coexistence: true}, {Limit: throughput.StandardLimit},
		{Limit: 200},
		{Limit: throughput.HighLimit},
	} {
		pace := number.Pace().Rate
		t.Run(fmt.Sprintf("%v at %.4g", number.Limit, pace), func(t *testing.T) {
			began := time.Now()
			leased := throttle.Slots{First: began, Interval: time.Duration(1e9 / pace), N: 1}
			var sent []time.Time
			for leased.First.Sub(began) < 5*time.Second { // leases of 200 ms, one after another
				leased.N = max(int(pace/5), 1)
				last := -1
				for i := range leased.N {
					if i > last {
						last = companion(leased, i, leased.N)
					}
					at := leased.At(last)
					if leased.At(i).Sub(began) < 2*time.Second {
						at = leased.At(i).Add(lateness) // the process is as late as it may be, and then it is not
					}
					sent = append(sent, at)
				}
				leased.First = leased.At(leased.N)
			}
			slices.SortFunc(sent, time.Time.Compare)
			worst, from := 0, 0
			for to := range sent {
				for sent[to].Sub(sent[from]) >= time.Second {
					from++
				}
				worst = max(worst, to-from+1)
			}
			if float64(worst) > number.Limit {
				t.Errorf("got %d messages in a sliding second, want at most %v", worst, number.Limit)
			}
		})
	}
}
