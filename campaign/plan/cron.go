package plan

import (
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"campaignd/campaign"
)

// Cron is a schedule in one time zone. It only computes; whoever fires it stores the Key, so
// that of many replicas one launches the run.
//
// Fixed hours ("0 9 * * MON", "30 */2 * * *") are civil times: each fires once a day whatever the
// clocks do. One that does not exist fires at the next instant that does, and firings that
// thereby fall together are one; one that exists twice fires the first time. Every hour
// ("*/15 * * * *") fires at each instant whose local clock matches, and @every at multiples of
// its interval since 1970, the same on each replica.
type Cron struct {
	fields *cron.SpecSchedule // evaluated on civil time, written as if it were UTC
	every  time.Duration      // of @every; fields is nil then
	hourly bool               // the hour field is all hours
	zone   *time.Location
	text   string
}

// Firing is one moment of a schedule. The zero value is none.
type Firing struct {
	At  time.Time // UTC
	Key string    // unique in the schedule: "2026-03-29T02:30" (civil) or "2026-03-29T01:30:00Z" (instant)
}

// civilKey and instantKey are the layouts of Firing.Key.
const (
	civilKey   = "2006-01-02T15:04"
	instantKey = "2006-01-02T15:04:05Z"
)

// maxExpression is far above any honest expression: all minutes, spelled out, are 170 bytes.
const maxExpression = 512

// part is one item of a field, as robfig/cron understands it; robfig itself also takes "*-5", ",,"
// and "+5", and reads them as something else.
var part = regexp.MustCompile(`^([*?]|[0-9]{1,2}|[A-Za-z]{3})(-([0-9]{1,2}|[A-Za-z]{3}))?(/[0-9]{1,2})?$`)

// ParseCron reads five fields (minute, hour, day of month, month, day of week) or a descriptor:
// @yearly, @monthly, @weekly, @daily, @hourly, @every DURATION. zone is IANA, UTC when empty.
//
// It refuses what robfig/cron v3.0.1 would panic on, misread, or never fire (ecosystem.md 2.11): a
// zone inside the expression, @reboot, @every below a second, Sunday as 7, L, W and #, a date that
// never comes, and a day of month together with a day of week, which fires on either.
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

// FieldError is what is wrong with one field of a campaign file. Its sentence names the remedy.
type FieldError struct {
	Field string // schedule.cron
	Err   error
}

// Error is one line: the field and what is wrong with it.
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

func (e *FieldError) Unwrap() error { return e.Err }

// CronOf is the schedule of the campaign file name, whose bytes are src and say d; nil when it has none. What is wrong
// with it is a *campaign.FileError with line and column, like every other fault of the file.
func CronOf(name string, src []byte, d *campaign.Definition) (*Cron, error) {
	if d.Schedule == nil {
		return nil, nil
	}
	c, err := ParseCron(d.Schedule.Cron, d.Schedule.Timezone)
	var field *FieldError
	if errors.As(err, &field) {
		return nil, campaign.FaultAt(name, src, field.Field, field.Err.Error())
	}
	return c, err
}

// String is the expression as written.
func (c *Cron) String() string { return c.text }

// Zone is the zone of the schedule's civil times.
func (c *Cron) Zone() *time.Location { return c.zone }

// Next is the first firing after the instant, later than it by a nanosecond or more. It is the
// zero Firing when there is none in a century.
func (c *Cron) Next(after time.Time) Firing {
	switch {
	case c.every > 0:
		return c.nextInterval(after)
	case c.hourly:
		return c.nextInstant(after)
	default:
		return c.nextCivil(after)
	}
}

// Latest is the last firing in (after, now], and how many before it in that stretch are passed over:
// what a daemon that was away owes. ok is false when nothing was due. It counts to a thousand
// missed firings and then says a thousand.
func (c *Cron) Latest(after, now time.Time) (last Firing, missed int, ok bool) {
	const most = 1000
	for next := c.Next(after); !next.At.IsZero() && !next.At.After(now); next = c.Next(next.At) {
		if ok {
			missed++
		}
		last, ok = next, true
		if missed == most {
			// The newest counts. Walk backwards in growing steps instead of through all of them.
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

// final is the last firing from f on that is not after now.
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

// nextInstant walks the stretches between changes of offset; within one, civil time and
// instants differ by a constant.
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

// nextCivil looks for the first civil time whose instant lies after: beginning far enough back that
// no change of offset, not even a skipped day, can have put an earlier one there.
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

// matchAfter is the next civil time that matches the fields. robfig/cron gives up after five years;
// 29 February may take eight.
func (c *Cron) matchAfter(at time.Time) time.Time {
	for range 20 {
		if next := c.fields.Next(at); !next.IsZero() {
			return next
		}
		at = at.AddDate(5, 0, 0)
	}
	return time.Time{}
}

// civil is what a clock in t's zone shows, written as a UTC time.
func civil(t time.Time) time.Time {
	year, month, day := t.Date()
	h, m, s := t.Clock()
	return time.Date(year, month, day, h, m, s, t.Nanosecond(), time.UTC)
}

// instantOf is when a clock in loc shows the civil time, the first time it does; when it never does,
// the instant at which it jumps over it.
func instantOf(civilTime time.Time, loc *time.Location) time.Time {
	// The offset is the one in force a good day before, or after, or (a gap) neither; 27 h is more
	// than any offset and any jump, Samoa's skipped day included.
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

func parseEvery(s string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(s))
	switch {
	case err != nil:
		return 0, errors.New("@every wants a duration like 90m or 24h")
	case d < time.Second:
		return 0, errors.New("@every wants a second or more")
	case d%time.Second != 0:
		return 0, errors.New("@every wants whole seconds")
	}
	return d, nil
}

// parseFields reads five fields, or a descriptor other than @every.
func (c *Cron) parseFields(text string) error {
	upper := strings.ToUpper(text)
	switch {
	case text == "":
		return errors.New(`it is empty; want five fields like "0 9 * * MON", or @daily`)
	case len(text) > maxExpression:
		return fmt.Errorf("it is %d bytes long, want at most %d", len(text), maxExpression)
	case strings.HasPrefix(upper, "TZ=") || strings.HasPrefix(upper, "CRON_TZ="):
		return errors.New("the time zone goes into schedule.timezone")
	case upper == "@REBOOT":
		return errors.New("@reboot has no meaning for a campaign; start a run with `campaignd run`")
	case strings.HasPrefix(upper, "@EVERY"):
		return errors.New("@every wants a duration, written like @every 90m")
	}
	if !strings.HasPrefix(text, "@") {
		if err := checkFields(text); err != nil {
			return err
		}
	}
	spec, err := parse(text)
	if err != nil {
		return err
	}
	c.fields = spec
	const allHours = 1<<24 - 1
	c.hourly = spec.Hour&allHours == allHours
	// From a fixed date, so that a schedule is valid or not whatever the day: five years hold a 29 February.
	if c.fields.Next(time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return errors.New("no such date ever comes; choose a day that the month has")
	}
	return nil
}

// parse runs robfig/cron's parser, which panics on some input (robfig/cron#554), in UTC.
func parse(text string) (spec *cron.SpecSchedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			spec, err = nil, errors.New(`want five fields like "0 9 * * MON", or @daily`)
		}
	}()
	schedule, err := cron.ParseStandard("TZ=UTC " + text)
	if err != nil {
		return nil, fmt.Errorf(`%w; want five fields like "0 9 * * MON", or @daily`, err)
	}
	spec, ok := schedule.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New(`want five fields like "0 9 * * MON", or @daily`)
	}
	return spec, nil
}

// checkFields refuses what robfig/cron would misread, and says what to write instead.
func checkFields(text string) error {
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return fmt.Errorf("%d fields, want five: minute, hour, day of month, month, day of week", len(fields))
	}
	names := [...]string{"minute", "hour", "day of month", "month", "day of week"}
	for i, field := range fields {
		for _, item := range strings.Split(field, ",") {
			m, upper := part.FindStringSubmatch(item), strings.ToUpper(item)
			star := m != nil && (m[1] == "*" || m[1] == "?")
			switch {
			case strings.Contains(item, "#"),
				i != 3 && len(item) <= 3 && (strings.HasSuffix(upper, "L") || strings.HasSuffix(upper, "W")): // JUL is a month
				return fmt.Errorf("%s %q: L, W and # are not supported; give days or dates", names[i], field)
			case m == nil || star && m[2] != "":
				return fmt.Errorf("%s %q: want *, numbers or names, ranges (1-5), steps (*/15) and lists (1,3,5)", names[i], field)
			case i == 4 && (m[1] == "7" || m[3] == "7"):
				return fmt.Errorf("day of week %q: Sunday is 0 or SUN", field)
			}
		}
	}
	// Without the exact "*", cron takes the two as "either": "0 9 1-7 * 1" is not the first Monday
	// but every Monday and the first week.
	restricted := func(s string) bool { return s != "*" && s != "?" }
	if restricted(fields[2]) && restricted(fields[4]) {
		return errors.New("day of month and day of week together fire on either day; set one of them to *")
	}
	return nil
}
