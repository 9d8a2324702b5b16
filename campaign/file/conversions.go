package file

import (
	"cmp"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/conversion"

	"github.com/invopop/jsonschema"
)

// Conversions is how the orders that a campaign brought are counted (docs/commerce.md#conversions).
type Conversions struct {
	// Within is the longest time from the acceptance of a message to an order that it brought; default
	// DefaultWithin.
	Within campaign.Duration `yaml:"within,omitempty" json:"within,omitempty"`
	// Count is paid (the default) or created.
	Count string `yaml:"count,omitempty" json:"count,omitempty"`
}

// DefaultWithin is the time in which orders count if the campaign names none, and MostWithin the
// longest that it may name.
const (
	DefaultWithin = campaign.Duration(168 * time.Hour)
	MostWithin    = campaign.Duration(2160 * time.Hour)
)

func counts() []string { return []string{string(conversion.Paid), string(conversion.Created)} }

func (c *Conversions) setDefaults() {
	if c != nil {
		c.Within, c.Count = cmp.Or(c.Within, DefaultWithin), cmp.Or(c.Count, string(conversion.Paid))
	}
}

func (s *Source) checkConversions(c *Conversions) {
	if c != nil {
		s.between("conversions.within", c.Within, time.Minute, MostWithin.Std())
		s.oneOf("conversions.count", c.Count, counts())
	}
}

// Counting is what counts the orders of a run.
type Counting struct {
	Rule conversion.Rule
	// Region is recipients.default_region of the campaign.
	Region string
}

// CountingOf returns what counts the orders of a run; false if its campaign counts none.
func CountingOf(r campaign.Run) (Counting, bool) {
	d, err := ParseStored(r.ID(), r.Definition)
	if err != nil || d.Conversions == nil {
		return Counting{}, false // also a definition of another version of this program
	}
	return Counting{conversion.Rule{Within: d.Conversions.Within.Std(), Count: conversion.Count(d.Conversions.Count)},
		d.Recipients.DefaultRegion}, true
}

// ComparedUntil is when the purchases of the people whom an ended run held out are no longer
// compared with those of the others; zero if its campaign does not compare them.
func ComparedUntil(r campaign.Run) time.Time {
	how, counts := CountingOf(r)
	if !counts {
		return time.Time{}
	}
	return r.EndedAt.Add(how.Rule.Within)
}

// conversionNotes describe the key conversions in the JSON Schema.
func conversionNotes() []note {
	return []note{
		{path: "conversions", text: "Count the orders of the commerce platform that the campaign brought."},
		{path: "conversions.within", text: "The longest time from the acceptance of a message to an order that it brought; at most 2160h.",
			more: func(s *jsonschema.Schema) { s.Default = DefaultWithin.String() }},
		{path: "conversions.count", text: "From when on an order counts: paid (while nothing of it is due) or created.",
			oneOf: counts(), more: func(s *jsonschema.Schema) { s.Default = string(conversion.Paid) }},
	}
}
