package scenario_test

import (
	"fmt"

	"campaignd/internal/sandbox/shop/scenario"
)

// A mistake is told with its place.
func Example() {
	section := scenario.Demo()
	fmt.Println(section.Validate(), section.Mode)
	section.Companies[0].Shops[0].Slug = ""
	fmt.Println(section.Validate())
	// Output:
	// <nil> live
	// commerce.companies[0].shops[0].slug: is missing
}
