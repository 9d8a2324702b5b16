package recipients

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/nyaruka/phonenumbers"
)

// Countries finds the country of E.164 numbers cheaply: by calling code, and where several
// countries share a code (+1, +7, +44 ...), by the first number seen of each area. It is for one
// goroutine.
type Countries struct {
	codes map[int]bool
	areas map[string]string // shared calling code and three digits -> region
}

// NewCountries returns Countries that have seen no number yet.
func NewCountries() *Countries {
	return &Countries{codes: phonenumbers.GetSupportedCallingCodes(), areas: map[string]string{}}
}

// SharedCodes returns the calling codes that several countries share, in order. Three digits more
// tell which of them a number is of, as far as Countries tells them apart.
func SharedCodes() []string {
	var all []string
	for code := range phonenumbers.GetSupportedCallingCodes() {
		if len(phonenumbers.GetRegionCodesForCountryCode(code)) > 1 {
			all = append(all, strconv.Itoa(code))
		}
	}
	slices.Sort(all)
	return all
}

// Region returns the ISO 3166 code of the number's country; "" when it has none (satellite and
// other global networks).
func (c *Countries) Region(to string) string {
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
			region = cmp.Or(Country(to), phonenumbers.GetRegionCodeForCountryCode(code))
			c.areas[area] = region
		}
		return region
	}
	return ""
}

// Exactly is Region by this number alone: no number that was seen before decides for its area.
func (c *Countries) Exactly(to string) string {
	clear(c.areas)
	return c.Region(to)
}

// Country is the country of a number by all of its digits; "" when it is in use in none.
func Country(to string) string {
	number, err := phonenumbers.Parse(to, "")
	if err != nil {
		return ""
	}
	return phonenumbers.GetRegionCodeForNumber(number)
}
