package file

import (
	"unicode/utf8"

	"campaignd/campaign"
)

// LimitsOf returns the limits of a run of this campaign: the limits of its file, with what the
// operator changed since.
func (d *Definition) LimitsOf(r campaign.Run) campaign.RunLimits {
	l := campaign.RunLimits{
		Class: campaign.ClassTransactional, Weight: max(d.Limits.Weight, 1), Rate: d.Limits.Rate, Deadline: d.Limits.Deadline,
	}
	if r.Marketing {
		l.Class = campaign.ClassBulk
	}
	c := r.Changed
	if c.Class != nil {
		l.Class = *c.Class
	}
	if c.Weight != nil {
		l.Weight = *c.Weight
	}
	if c.Rate != nil {
		l.Rate = *c.Rate
	}
	if c.Deadline != nil {
		l.Deadline = *c.Deadline
	}
	return l
}

// ZoneOf returns the zone in which the operator of a run reads a clock: that of the campaign's
// window, else that of its schedule. It is "" for UTC, and for windows in the zones of recipients.
func ZoneOf(r campaign.Run) string {
	d, err := ParseStored(r.ID(), r.Definition)
	if err != nil {
		return "" // of another version of this program
	}
	zone := ""
	if d.Schedule != nil {
		zone = d.Schedule.Timezone
	}
	if d.Window != nil && d.Window.Timezone != "" && d.Window.Timezone != ZoneOfRecipient {
		zone = d.Window.Timezone
	}
	if zone == "UTC" {
		return ""
	}
	return zone
}

// CommaOf returns the delimiter of a run's list. A run of a version that did not store it has the
// delimiter that the campaign names, otherwise a comma.
func CommaOf(r campaign.Run) rune {
	if comma, size := utf8.DecodeRuneInString(r.Delimiter); size > 0 {
		return comma
	}
	if d, err := ParseStored(r.Campaign, r.Definition); err == nil {
		if comma, err := d.Recipients.Options().Comma(); err == nil && comma != 0 {
			return comma
		}
	}
	return ','
}

// MayHaveMoved reports whether segments of a run with this definition move to other connections:
// then any of them may have posted what the lost time posted.
func MayHaveMoved(definition []byte) bool {
	d, err := ParseStored("run", definition)
	return err == nil && d.Limits.Move
}
