package launch

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nyaruka/phonenumbers"

	"campaignd/recipients"
)

// zonesOf returns the time zones of a country that are distinct in the year from now on, by
// libphonenumber's map of prefixes; none for no country, or one that the map does not know. to is a
// number of it.
func zonesOf(country, to string, now time.Time) []string {
	if country == "" {
		return nil
	}
	code := phonenumbers.GetCountryCodeForRegion(country)
	whole, err := phonenumbers.GetTimezonesForPrefix(fmt.Sprint(code))
	if err != nil {
		return nil
	}
	found := map[string]bool{}
	for _, zone := range whole {
		found[zone] = true
	}
	if code == 1 || code == 7 { // countries far apart share these codes, and each area belongs to one
		clear(found)
		for area := 200; area < 1000; area++ {
			prefix := fmt.Sprintf("+%d%d", code, area)
			zones, err := phonenumbers.GetTimezonesForPrefix(prefix)
			if err == nil && !slices.Equal(zones, whole) && recipients.Country(prefix+"2345678") == country {
				for _, zone := range zones {
					found[zone] = true
				}
			}
		}
		if len(found) == 0 { // the area's numbers do not look like the sample
			found[zoneOfNumber(to)] = true
		}
	}
	delete(found, phonenumbers.UNKNOWN_TIMEZONE)
	return distinct(slices.Sorted(maps.Keys(found)), now)
}

// zoneOfNumber is a zone that a number may be in, by its prefix: a hint for people, since a mobile
// number moves with its owner.
func zoneOfNumber(to string) string {
	zones, err := phonenumbers.GetTimezonesForPrefix(to)
	if err != nil || len(zones) == 0 {
		return phonenumbers.UNKNOWN_TIMEZONE
	}
	return zones[0]
}
