package campaign

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nyaruka/phonenumbers"
)

// countries finds the country of E.164 numbers cheaply: by calling code, and where several
// countries share a code (+1, +7, +44 ...), by the first number seen of each area.
type countries struct {
	codes map[int]bool
	areas map[string]string // shared calling code and three digits -> region
}

func newCountries() *countries {
	return &countries{codes: phonenumbers.GetSupportedCallingCodes(), areas: map[string]string{}}
}

// of returns the ISO 3166 code of the number's country; "" when it has none (satellite and other
// global networks).
func (c *countries) of(to string) string {
	if len(to) < 8 {
		return ""
	}
	for n := 2; n <= 4; n++ {
		code, err := strconv.Atoi(to[1:n])
		if err != nil || !c.codes[code] {
			continue
		}
		regions := phonenumbers.GetRegionCodesForCountryCode(code)
		if len(regions) == 1 {
			if regions[0] == "001" {
				return ""
			}
			return regions[0]
		}
		area := to[:n+3]
		region, known := c.areas[area]
		if !known {
			region = cmp.Or(regionOf(to), phonenumbers.GetRegionCodeForCountryCode(code))
			c.areas[area] = region
		}
		return region
	}
	return ""
}

// regionOf is the country of a number by all of its digits; "" when it is in use in none.
func regionOf(to string) string {
	number, err := phonenumbers.Parse(to, "")
	if err != nil {
		return ""
	}
	return phonenumbers.GetRegionCodeForNumber(number)
}

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
			if err == nil && !slices.Equal(zones, whole) && regionOf(prefix+"2345678") == country {
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
