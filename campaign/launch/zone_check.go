package launch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// zoneCounts counts the rows whose own time zone is not known.
type zoneCounts struct {
	bad       int64             // the row names one that does not exist
	none      int64             // neither the row nor its number's country tells it
	countries map[string]int64  // by country: sent only while the window is open in all zones of it
	examples  map[string]string // by country: a zone that its first row may have
}

// zone is the window group of a row that can be sent, which it counts.
func (c *check) zone(z *zones, row *recipients.Row) string {
	group, from := z.group(row)
	if from != zoneOfRow && strings.TrimSpace(row.Timezone) != "" {
		if c.zones.bad++; c.zones.bad == 1 {
			c.p.Findings = append(c.p.Findings, file.Warning(
				file.KindTimeZone, 0, fmt.Sprintf("%s:%d", c.in.List, row.Line),
				fmt.Sprintf("%q is not a time zone: such rows count as rows without one", sentence.Shorten(row.Timezone, 40)),
				"write IANA names such as Africa/Lagos"))
		}
	}
	switch from {
	case zoneOfCampaign:
		c.zones.none++
	case zonesOfCountry:
		country := z.where.Region(row.To)
		if c.zones.countries == nil {
			c.zones.countries, c.zones.examples = map[string]int64{}, map[string]string{}
		}
		if c.zones.countries[country]++; c.zones.countries[country] == 1 {
			c.zones.examples[country] = zoneOfNumber(row.To)
		}
	}
	return group
}

// zoneFindings warns of rows without a known time zone, and names the zone that is used.
func (c *check) zoneFindings(z *zones) {
	if z == nil {
		return
	}
	const column = "add a column timezone, or map it with recipients.columns: {timezone: COLUMN}"
	if n := c.zones.bad; n > 1 {
		c.sayOf(n, file.KindTimeZone, "window.timezone", sentence.Count(n, "row names", "rows name")+" a time zone that does not exist", "")
	}
	if n := c.zones.none; n > 0 {
		c.sayOf(n, file.KindTimeZone, "window.timezone",
			fmt.Sprintf("%s no time zone, and its number no country: sent by the clock of %s",
				sentence.Count(n, "row has", "rows have"), z.fallback),
			column)
	}
	for _, country := range slices.Sorted(maps.Keys(c.zones.countries)) {
		names := strings.Split(z.country[country], ",")
		rows := sentence.Count(c.zones.countries[country], "row of "+country+" names", "rows of "+country+" name")
		remedy := fmt.Sprintf("%s; or choose one clock: window.countries: {%s: %s}", column, country, c.zones.examples[country])
		if apart := spread(names, time.Now()); apart >= hoursOf(c.d.Window.Hours) {
			c.say(file.Fault, "window.timezone", fmt.Sprintf("%s no time zone, and the country's zones lie %s apart: "+
				"%s is never in all of them", rows, campaign.Duration(apart), c.d.Window.Hours), remedy)
			continue
		}
		c.sayOf(c.zones.countries[country], file.KindTimeZone, "window.timezone",
			fmt.Sprintf("%s no time zone: sent only while the window is open in all %d zones "+
				"of the country", rows, len(names)), remedy)
	}
}

// spread is how far apart the clocks of zones are, at most, in the year from now on.
func spread(names []string, now time.Time) (most time.Duration) {
	var zones []*time.Location
	for _, name := range names {
		if loc, err := time.LoadLocation(name); err == nil { // distinct has left the others out
			zones = append(zones, loc)
		}
	}
	for day := range 366 {
		least, greatest := 0, 0
		for i, loc := range zones {
			_, offset := now.AddDate(0, 0, day).In(loc).Zone()
			if i == 0 {
				least, greatest = offset, offset
			}
			least, greatest = min(least, offset), max(greatest, offset)
		}
		most = max(most, time.Duration(greatest-least)*time.Second)
	}
	return most
}

// hoursOf is how long the window of a day is. plan.ParseWindow reads the same text.
func hoursOf(hours string) time.Duration {
	from, to, _ := strings.Cut(strings.Replace(hours, "24:00", "00:00", 1), "-")
	begin, _ := time.Parse("15:04", from)
	end, _ := time.Parse("15:04", to)
	if !end.After(begin) { // to midnight or over it; no hours are the whole day
		end = end.Add(24 * time.Hour)
	}
	return end.Sub(begin)
}
