package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"campaignd/campaign/launch"
)

// writeCountries writes how many recipients are in each country: the first 8, and how many more
// countries there are.
func writeCountries(w io.Writer, found []launch.CountryCount) {
	var countries []string
	for i, c := range found {
		if i == 8 {
			countries = append(countries, fmt.Sprintf("%d more", len(found)-i))
			break
		}
		countries = append(countries, fmt.Sprintf("%s %d", cmp.Or(c.Country, "no country"), c.Rows))
	}
	if len(countries) > 0 {
		fmt.Fprintf(w, "countries: %s\n", strings.Join(countries, ", "))
	}
}
