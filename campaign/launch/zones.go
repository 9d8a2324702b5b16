package launch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"campaignd/campaign/file"
	"campaignd/recipients"
)

// zoneSource is where the window group of a row comes from.
type zoneSource int

const (
	zoneOfRow      zoneSource = iota // the column timezone
	zoneOfCountry                    // the one zone of the number's country, or the campaign's choice for it
	zonesOfCountry                   // all zones of the number's country
	zoneOfCampaign                   // neither is known: the zone of the schedule, or UTC
)

// zones turns rows into window groups: the name of a time zone, or those of a country, separated by
// commas (plan.Zones).
type zones struct {
	fallback string
	chosen   map[string]string // by country: window.countries
	known    map[string]string // cell -> zone; "" for an invalid cell
	where    *recipients.Countries
	country  map[string]string // country -> its group; "" when it has none
}

func newZones(d *file.Definition) *zones {
	z := &zones{fallback: "UTC", chosen: d.Window.Countries, known: map[string]string{},
		where: recipients.NewCountries(), country: map[string]string{}}
	if d.Schedule != nil {
		z.fallback = cmp.Or(d.Schedule.Timezone, z.fallback)
	}
	return z
}

// group is the window group of a row: the zone that it names, else that of its number's country.
// Where the country has several zones, the window must be open in all of them.
func (z *zones) group(row *recipients.Row) (group string, from zoneSource) {
	if zone := z.cell(row.Timezone); zone != "" {
		return zone, zoneOfRow
	}
	country := z.where.Region(row.To)
	if zone := z.chosen[country]; zone != "" {
		return zone, zoneOfCountry
	}
	group, met := z.country[country]
	if !met {
		group = strings.Join(zonesOf(country, row.To, time.Now()), ",")
		z.country[country] = group
	}
	switch {
	case group == "":
		return z.fallback, zoneOfCampaign
	case strings.Contains(group, ","):
		return group, zonesOfCountry
	}
	return group, zoneOfCountry
}

// cell is the zone that a cell names; "" when it names none.
func (z *zones) cell(cell string) string {
	zone, met := z.known[cell]
	if !met {
		if name := strings.TrimSpace(cell); file.CheckZone(name) == nil {
			loc, _ := time.LoadLocation(name)
			zone = loc.String()
		}
		if len(z.known) < 4096 { // there are 600 zones; a broken column may have any number of values
			z.known[strings.Clone(cell)] = zone
		}
	}
	return zone
}

// distinct keeps the first of several zones whose clocks show the same time for a year from now. It
// leaves out names that are no zone.
func distinct(names []string, now time.Time) (out []string) {
	var kept []*time.Location
	for _, name := range names {
		loc, err := time.LoadLocation(name)
		if err == nil && !slices.ContainsFunc(kept, func(k *time.Location) bool { return sameClock(k, loc, now) }) {
			kept, out = append(kept, loc), append(out, name)
		}
	}
	return out
}

func sameClock(a, b *time.Location, from time.Time) bool {
	for day := range 366 {
		at := from.AddDate(0, 0, day)
		_, offset := at.In(a).Zone()
		if _, other := at.In(b).Zone(); other != offset {
			return false
		}
	}
	return true
}
