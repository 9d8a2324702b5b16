package sentence_test

import (
	"fmt"

	"campaignd/internal/sentence"
)

func ExampleDidYouMean() {
	keys := []string{"base_url", "api_key", "timeout"}
	fmt.Println(sentence.DidYouMean("timeot", keys))
	fmt.Println(sentence.DidYouMean("APIKey", keys))
	fmt.Println(sentence.DidYouMean("colour", keys))
	// Output:
	// did you mean "timeout"?
	// did you mean "api_key"?
	// known here: base_url, api_key, timeout
}
