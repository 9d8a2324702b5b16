package draw_test

import (
	"fmt"

	"campaignd/internal/sandbox/draw"
)

// The same seed and the same message always give the same draw.
func Example() {
	const seed, message, delay = 1, 42, 3
	h := draw.Mix(seed, message, delay)
	fmt.Println(h == draw.Mix(seed, message, delay), draw.Unit(h) < 1)
	// Output: true true
}
