package campaign

import (
	"strconv"

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
			region = phonenumbers.GetRegionCodeForCountryCode(code)
			if number, err := phonenumbers.Parse(to, ""); err == nil {
				if exact := phonenumbers.GetRegionCodeForNumber(number); exact != "" {
					region = exact
				}
			}
			c.areas[area] = region
		}
		return region
	}
	return ""
}
