package spelling_test

import (
	"fmt"

	"campaignd/internal/spelling"
)

func ExampleDidYouMean() {
	keys := []string{"base_url", "api_key", "timeout"}
	fmt.Println(spelling.DidYouMean("timeot", keys))
	fmt.Println(spelling.DidYouMean("APIKey", keys))
	fmt.Println(spelling.DidYouMean("colour", keys))
	// Output:
	// did you mean "timeout"?
	// did you mean "api_key"?
	// known here: base_url, api_key, timeout
}
