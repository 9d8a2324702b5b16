package throttletest_test

import (
	"fmt"
	"time"

	"campaignd/throttle/throttletest"
)

// Four messages end one calendar second and four begin the next: no calendar second has more than
// four, but a sliding second has eight.
func ExampleWorstSecond() {
	nine := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	var sent []time.Time
	for i := range 4 {
		sent = append(sent, nine.Add(time.Duration(i-4)*100*time.Millisecond), nine.Add(time.Duration(i)*100*time.Millisecond))
	}
	fmt.Println(throttletest.WorstSecond(sent), throttletest.LongestSilence(sent), throttletest.MeanRate(sent))
	// Output: 8 100ms 10
}
