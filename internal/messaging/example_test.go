package messaging_test

import (
	"fmt"

	"campaignd/internal/messaging"
)

// The code of a failed status says what else must stop.
func ExampleFailed() {
	f := messaging.Failed(131026)
	fmt.Println(f.Sentence)
	fmt.Println(f.Feed == messaging.FeedUnreachable, f.Throttles)
	// Output:
	// undeliverable: not on the platform, terms not accepted, or a client too old
	// true false
}
