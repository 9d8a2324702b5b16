package plan

import (
	"time"

	"campaignd/campaign"
)

// Ramp warms a number up: it may send Start messages on its first day, Step more on each day that
// follows a day on which it sent, and at most Ceiling (docs/limits.md#warm-up-ramps). Days are
// those of UTC.
type Ramp struct {
	Start, Step, Ceiling int64
}

// RampState is how far a number has come.
type RampState = campaign.RampState

// The ratings of a number's quality that a ramp obeys; every other one lets it grow.
const (
	QualityYellow = "YELLOW"
	QualityRed    = "RED"
)

// RampDay numbers the days of UTC, from 1 for 1 January 1970.
func RampDay(t time.Time) int64 { return t.Unix()/86400 + 1 }

// RampPeriod returns the day of UTC in which t lies; to is exclusive.
func RampPeriod(t time.Time) (from, to time.Time) {
	from = t.UTC().Truncate(24 * time.Hour)
	return from, from.Add(24 * time.Hour)
}

// Daily is how many messages a day the number may send that many steps above Start.
func (r Ramp) Daily(steps int64) int64 {
	if r.Step > 0 && steps > (r.Ceiling-r.Start)/r.Step {
		return max(r.Ceiling, 0)
	}
	return max(min(r.Start+steps*r.Step, r.Ceiling), 0)
}

// Next returns the state of day, which is not before the day of s. sent says whether the number
// sent a message since s was decided. A day without a message, and quality YELLOW, keep the step;
// quality RED takes one back, once each day.
func (r Ramp) Next(s RampState, day int64, quality string, sent bool) RampState {
	next := RampState{Day: day, Steps: s.Steps, Cut: s.Cut && s.Day == day}
	switch {
	case s.Day == 0:
		next.Steps = 0
	case quality == QualityRed:
		if !next.Cut {
			next.Steps, next.Cut = max(s.Steps-1, 0), true
		}
	case day > s.Day && quality != QualityYellow && sent && r.Daily(s.Steps) < r.Ceiling:
		next.Steps++
	}
	return next
}

// On returns how many messages the number may send on the day that many days after the day of s, if
// it sends each day and its quality stays as it is.
func (r Ramp) On(s RampState, days int64, quality string) int64 {
	switch quality {
	case QualityRed:
		return r.Daily(max(s.Steps-days, 0))
	case QualityYellow:
		return r.Daily(s.Steps)
	}
	return r.Daily(s.Steps + days)
}
