package plan

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"campaignd/campaign/file"
)

// Cron is a schedule in one time zone. It only computes firings. Each replica stores the Key of a
// firing before it launches the run, so that only one of them launches it.
//
// Fixed hours ("0 9 * * MON", "30 */2 * * *") are civil times: each fires once a day, also when the
// clocks change. If the clocks skip a civil time, it fires at the instant of the change; firings
// with the same instant are one. A civil time that exists twice fires the first time. A schedule
// for every hour ("*/15 * * * *") fires at each instant at which the local clock matches. @every
// fires at multiples of its interval since 1970, so all replicas compute the same instants.
type Cron struct {
	fields *cron.SpecSchedule // evaluated on civil time, represented as UTC
	every  time.Duration      // of @every; fields is nil then
	hourly bool               // the hour field means every hour
	once   Firing             // of schedule.at; fields is nil then
	zone   *time.Location
	text   string
}

// Firing is one instant of a schedule. The zero value means none.
type Firing struct {
	At  time.Time // UTC
	Key string    // unique in the schedule: "2026-03-29T02:30" (civil) or "2026-03-29T01:30:00Z" (instant)
}

// The layouts of Firing.Key.
const (
	civilKey   = "2006-01-02T15:04"
	instantKey = "2006-01-02T15:04:05Z"
)

// ParseCron reads five fields (minute, hour, day of month, month, day of week) or a descriptor:
// @yearly, @monthly, @weekly, @daily, @hourly, @every DURATION. zone is an IANA name; "" is UTC.
// The error is a *FieldError.
//
// It refuses expressions on which robfig/cron v3.0.1 would panic, that it would misread, or that
// would never fire: a zone inside the expression, @reboot, @every below a second, Sunday as 7, L, W
// and #, a date that never comes, and a day of month together with a day of week, which would fire
// on either.
func ParseCron(expr, zone string) (*Cron, error) {
	loc, err := Zone(zone)
	if err != nil {
		return nil, &FieldError{"schedule.timezone", err}
	}
	text := strings.TrimSpace(expr)
	c := &Cron{zone: loc, text: text}
	if interval, ok := strings.CutPrefix(text, "@every "); ok {
		c.every, err = parseEvery(interval)
	} else {
		err = c.parseFields(text)
	}
	if err != nil {
		if len(expr) > 60 {
			expr = expr[:57] + "..."
		}
		return nil, &FieldError{"schedule.cron", fmt.Errorf("%q: %w", expr, err)}
	}
	return c, nil
}

// CronOf is the schedule of a campaign, nil if it has none. name is the name of the campaign file,
// src its content, and d the definition read from src. The error is a *file.Error with line
// and column.
func CronOf(name string, src []byte, d *file.Definition) (*Cron, error) {
	if d.Schedule == nil {
		return nil, nil
	}
	var c *Cron
	var err error
	if d.Schedule.At != "" {
		c, err = parseOnce(d.Schedule.At, d.Schedule.Timezone)
	} else {
		c, err = ParseCron(d.Schedule.Cron, d.Schedule.Timezone)
	}
	var field *FieldError
	if errors.As(err, &field) {
		return nil, file.FaultAt(name, src, field.Field, field.Err.Error())
	}
	return c, err
}

// String is the expression as written.
func (c *Cron) String() string { return c.text }

// Zone is the time zone of the schedule's civil times.
func (c *Cron) Zone() *time.Location { return c.zone }

// Next is the first firing later than after. It is the zero Firing when there is none within a
// century.
func (c *Cron) Next(after time.Time) Firing {
	switch {
	case !c.once.At.IsZero():
		if c.once.At.After(after) {
			return c.once
		}
		return Firing{}
	case c.every > 0:
		return c.nextInterval(after)
	case c.hourly:
		return c.nextInstant(after)
	default:
		return c.nextCivil(after)
	}
}

// Latest returns the last firing in (after, now], and how many earlier firings are in that time,
// counted up to 1000 (missed). A daemon that was away asks it what is due. ok is false if nothing
// was due.
func (c *Cron) Latest(after, now time.Time) (last Firing, missed int, ok bool) {
	const most = 1000
	for next := c.Next(after); !next.At.IsZero() && !next.At.After(now); next = c.Next(next.At) {
		if ok {
			missed++
		}
		last, ok = next, true
		if missed == most {
			// More are not counted. The last firing is searched from now backwards, in growing steps.
			for back := time.Second; ; back *= 2 {
				if near := c.Next(now.Add(-back)); !near.At.IsZero() && !near.At.After(now) {
					if near.At.After(last.At) {
						last = c.final(near, now)
					}
					return last, most, true
				}
			}
		}
	}
	return last, missed, ok
}

// final is the last firing that is not after now, beginning at f.
func (c *Cron) final(f Firing, now time.Time) Firing {
	for {
		next := c.Next(f.At)
		if next.At.IsZero() || next.At.After(now) {
			return f
		}
		f = next
	}
}

func (c *Cron) nextInterval(after time.Time) Firing {
	step := int64(c.every / time.Second)
	n := after.Unix() / step
	if after.Unix()%step < 0 {
		n--
	}
	at := time.Unix((n+1)*step, 0).UTC()
	return Firing{At: at, Key: at.Format(instantKey)}
}

// nextInstant searches one stretch of time after the other in which the zone's offset does not
// change: in it civil time and instant differ by a constant.
func (c *Cron) nextInstant(after time.Time) Firing {
	limit := after.AddDate(100, 0, 0)
	for at := after; at.Before(limit); {
		local := at.In(c.zone)
		_, offset := local.Zone()
		end := offsetUntil(at, c.zone)
		next := c.matchAfter(civil(local))
		if next.IsZero() {
			return Firing{}
		}
		fires := next.Add(-time.Duration(offset) * time.Second)
		if end.IsZero() || fires.Before(end) {
			return Firing{At: fires.UTC(), Key: fires.UTC().Format(instantKey)}
		}
		if edge := civil(end.In(c.zone)); c.matchAfter(edge.Add(-time.Second)).Equal(edge) {
			return Firing{At: end.UTC(), Key: end.UTC().Format(instantKey)}
		}
		at = end
	}
	return Firing{}
}

// nextCivil is the first civil time whose instant is later than after. The search begins 25 hours
// earlier, because no change of offset, not even a skipped day, moves a civil time by more.
func (c *Cron) nextCivil(after time.Time) Firing {
	for at := civil(after.In(c.zone)).Add(-25 * time.Hour); ; {
		at = c.matchAfter(at)
		if at.IsZero() {
			return Firing{}
		}
		if fires := instantOf(at, c.zone); fires.After(after) {
			return Firing{At: fires.UTC(), Key: at.Format(civilKey)}
		}
	}
}

// matchAfter is the next civil time that matches the fields. robfig/cron gives up after five years,
// but 29 February may take eight.
func (c *Cron) matchAfter(at time.Time) time.Time {
	for range 20 {
		if next := c.fields.Next(at); !next.IsZero() {
			return next
		}
		at = at.AddDate(5, 0, 0)
	}
	return time.Time{}
}

// civil is the reading of a clock in t's zone, represented as a UTC time.
func civil(t time.Time) time.Time {
	year, month, day := t.Date()
	h, m, s := t.Clock()
	return time.Date(year, month, day, h, m, s, t.Nanosecond(), time.UTC)
}

// instantOf is the first instant at which a clock in loc shows the civil time. If the clock skips
// that time, it is the instant of the change.
func instantOf(civilTime time.Time, loc *time.Location) time.Time {
	// The offset is that of 27 h before or of 27 h after; for a skipped time neither is right. 27 h is
	// more than any offset and any change of it, also the day that Samoa skipped.
	const far = 27 * time.Hour
	var first time.Time
	for _, near := range []time.Time{civilTime.Add(-far), civilTime.Add(far)} {
		_, offset := near.In(loc).Zone()
		shows := civilTime.Add(-time.Duration(offset) * time.Second)
		if civil(shows.In(loc)).Equal(civilTime) && (first.IsZero() || shows.Before(first)) {
			first = shows
		}
	}
	if !first.IsZero() {
		return first
	}
	before := sort.Search(int(2*far/time.Second), func(i int) bool {
		at := civilTime.Add(time.Duration(i)*time.Second - far)
		return !civil(at.In(loc)).Before(civilTime)
	})
	return civilTime.Add(time.Duration(before)*time.Second - far)
}
