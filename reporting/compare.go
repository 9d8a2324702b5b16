package reporting

import (
	"fmt"

	"campaignd/campaign"
)

// Side is a figure of one of two runs, and its share of what it is a part of.
type Side struct {
	N       int64    `json:"n"`
	Percent *float64 `json:"percent,omitempty"` // nil: of nothing
}

// Contrast is a figure of two runs.
type Contrast struct {
	Name   string   `json:"name"`
	Of     string   `json:"of,omitempty"` // what the shares are of
	Runs   [2]Side  `json:"runs"`
	Points *float64 `json:"points,omitempty"` // how many percentage points the second is above the first
}

// Contrasts compares the figures of two runs, side by side. A figure that one of them does not have
// is left out.
func Contrasts(a, b *Report) (all []Contrast) {
	add := func(name, of string, figure func(*Report) (n, of int64)) {
		c := Contrast{Name: name, Of: of}
		for i, r := range [2]*Report{a, b} {
			n, whole := figure(r)
			c.Runs[i].N = n
			if whole > 0 {
				c.Runs[i].Percent = new(100 * float64(n) / float64(whole))
			}
		}
		if x, y := c.Runs[0].Percent, c.Runs[1].Percent; x != nil && y != nil {
			c.Points = new(*y - *x)
		}
		all = append(all, c)
	}
	add("rows", "", func(r *Report) (int64, int64) { return r.Rows, 0 })
	add("skipped", "rows", func(r *Report) (int64, int64) { return r.Totals[campaign.Skipped], r.Rows })
	add("sendable", "rows", func(r *Report) (int64, int64) { return r.Funnel.Sendable, r.Rows })
	add("accepted", "sendable", func(r *Report) (int64, int64) { return r.Funnel.Accepted, r.Funnel.Sendable })
	add("delivered", "accepted", func(r *Report) (int64, int64) { return r.Funnel.Delivered, r.Funnel.Accepted })
	add("read", "delivered", func(r *Report) (int64, int64) { return r.Funnel.Read, r.Funnel.Delivered })
	add("failed or refused", "sendable", func(r *Report) (int64, int64) {
		return r.Totals[campaign.Failed] + r.Totals[campaign.Refused], r.Funnel.Sendable
	})
	add("uncertain", "sendable", func(r *Report) (int64, int64) {
		return r.Totals[campaign.InDoubt] + r.Totals[campaign.Unknown], r.Funnel.Sendable
	})
	if a.Responses != nil && b.Responses != nil {
		add("replied", "delivered", func(r *Report) (int64, int64) { return r.Responses.Replied, r.Funnel.Delivered })
		add("opted out", "delivered", func(r *Report) (int64, int64) { return r.Responses.OptedOut, r.Funnel.Delivered })
	}
	if a.Conversions != nil && b.Conversions != nil {
		add("people who ordered", "delivered", func(r *Report) (int64, int64) { return r.Conversions.People, r.Funnel.Delivered })
	}
	return all
}

// Cells are the cells of a table with the name, both runs and the difference.
func (c *Contrast) Cells() []string {
	cells := []string{c.Name}
	for _, s := range c.Runs {
		text := count(s.N)
		if s.Percent != nil {
			text += fmt.Sprintf(" (%.1f %%)", *s.Percent)
		}
		cells = append(cells, text)
	}
	points := ""
	if c.Points != nil {
		points = fmt.Sprintf("%+.1f points of %s", *c.Points, c.Of)
	}
	return append(cells, points)
}
