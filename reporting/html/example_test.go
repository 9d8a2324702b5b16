package html_test

import (
	"fmt"
	"strings"

	"campaignd/campaign"
	"campaignd/reporting"
	"campaignd/reporting/html"
)

// A report of a list without rows.
func Example() {
	f := html.Facts{Report: &reporting.Report{Run: reporting.RunFacts{ID: "spring-sale-1", State: campaign.Finished}}}
	var page strings.Builder
	if err := html.Write(&page, &f); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.Contains(page.String(), "<strong>The list has no rows</strong>"))
	// Output: true
}
