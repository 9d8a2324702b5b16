package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The civil times that parseOnce reads.
var onceLayouts = [...]string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"}

// parseOnce reads the one time of a schedule: a civil time in zone ("2026-12-24T09:00"), or an
// instant with its offset (RFC 3339), which needs no zone. A civil time that the clocks skip fires
// at the next instant that exists; one that exists twice fires the first time. The error is a
// *FieldError.
func parseOnce(text, zone string) (*Cron, error) {
	loc, err := Zone(zone)
	if err != nil {
		return nil, &FieldError{"schedule.timezone", err}
	}
	text = strings.TrimSpace(text)
	c := &Cron{zone: loc, text: text}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		c.once = Firing{At: at.UTC().Truncate(time.Second)}
		c.once.Key = c.once.InstantKey()
	}
	for _, layout := range onceLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			c.once = Firing{At: instantOf(at, loc).UTC(), Key: at.Format("2006-01-02T15:04:05")}
		}
	}
	if year := c.once.At.Year(); year < 2000 || year > 2200 {
		if len(text) > 60 {
			text = text[:57] + "..."
		}
		return nil, &FieldError{"schedule.at", fmt.Errorf("%q: %w", text, errOnce)}
	}
	return c, nil
}

var errOnce = errors.New("want a time like 2026-12-24T09:00 in schedule.timezone, or 2026-12-24T09:00:00+01:00")

// Once is the only firing of a schedule with schedule.at; ok is false for cron.
func (c *Cron) Once() (f Firing, ok bool) { return c.once, !c.once.At.IsZero() }

// InstantKey is the key that names the instant of a firing, in any spelling of its time.
func (f Firing) InstantKey() string { return f.At.Format(instantKey) }
