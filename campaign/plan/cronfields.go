package plan

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// maxExpression is the greatest length of an expression in bytes. All minutes, spelled out, are
// 170.
const maxExpression = 512

// part is one item of a field, as robfig/cron understands it. robfig/cron also accepts "*-5", ",,"
// and "+5", but reads them as something else.
var part = regexp.MustCompile(`^([*?]|[0-9]{1,2}|[A-Za-z]{3})(-([0-9]{1,2}|[A-Za-z]{3}))?(/[0-9]{1,2})?$`)

// FieldError is an error in one field of a campaign file. Its sentence names the remedy.
type FieldError struct {
	Field string // path of the field, such as schedule.cron
	Err   error
}

// Error is one line: the field and what is wrong with it.
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

func (e *FieldError) Unwrap() error { return e.Err }

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
	// The search starts at a fixed date, so that the result does not depend on today: five years have
	// a 29 February.
	if c.fields.Next(time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return errors.New("no such date ever comes; choose a day that the month has")
	}
	return nil
}

// parse runs robfig/cron's parser in UTC. The parser panics on some input
// (https://github.com/robfig/cron/issues/554).
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

// cronFields are the five fields of an expression, in their order.
var cronFields = [...]struct {
	name   string
	step   string // that means every one of the next larger unit; "": the months differ in length
	alone  string // when a field with one value fires
	remedy string // what a step beyond the field was meant to be
}{
	{"minute", "/60", "at minute %d of each hour", "@every %sm fires every %[1]s minutes"},
	{"hour", "/24", "in hour %d of each day", "@every %sh fires every %[1]s hours"},
	{"day of month", "", "on day %d of each month", "give the days, such as 1,15"},
	{"month", "/12", "in month %d of each year", "give the months, such as 1,7"},
	{"day of week", "/7", "on day %d of each week", "give the days, such as MON,THU"},
}

// checkStep refuses an item of field i whose step (with its slash) leaves the field before a second
// value: "*/90" would not fire every 90 minutes but once in each hour. "*/60" fires once an hour,
// as it says.
func checkStep(i int, item, step string) error {
	f := cronFields[i]
	if step == "" || step == f.step {
		return nil
	}
	alone := [...]string{"*", "*", "*", "*", "*"}
	alone[i] = item
	spec, err := parse(strings.Join(alone[:], " "))
	if err != nil {
		return err
	}
	values := [...]uint64{spec.Minute, spec.Hour, spec.Dom, spec.Month, spec.Dow}[i]
	if bits.OnesCount64(values) > 1 {
		return nil
	}
	remedy := f.remedy
	if i < 2 {
		remedy = fmt.Sprintf(remedy, strings.TrimPrefix(step, "/"))
	}
	return fmt.Errorf("%s %q: no second value follows within the field, so it would fire only "+f.alone+"; %s",
		f.name, item, bits.TrailingZeros64(values), remedy)
}

// checkFields refuses fields that robfig/cron would misread, and says what to write instead.
func checkFields(text string) error {
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return fmt.Errorf("%d fields, want five: minute, hour, day of month, month, day of week", len(fields))
	}
	for i, field := range fields {
		for _, item := range strings.Split(field, ",") {
			m, upper := part.FindStringSubmatch(item), strings.ToUpper(item)
			star := m != nil && (m[1] == "*" || m[1] == "?")
			switch {
			case strings.Contains(item, "#"),
				i != 3 && len(item) <= 3 && (strings.HasSuffix(upper, "L") || strings.HasSuffix(upper, "W")): // JUL is a month
				return fmt.Errorf("%s %q: L, W and # are not supported; give days or dates", cronFields[i].name, field)
			case m == nil || star && m[2] != "":
				return fmt.Errorf("%s %q: want *, numbers or names, ranges (1-5), steps (*/15) and lists (1,3,5)", cronFields[i].name, field)
			case i == 4 && (m[1] == "7" || m[3] == "7"):
				return fmt.Errorf("day of week %q: Sunday is 0 or SUN", field)
			}
			if err := checkStep(i, item, m[4]); err != nil {
				return err
			}
		}
	}
	// Unless one of the two is exactly "*", cron fires on either: "0 9 1-7 * 1" is not the first
	// Monday, but every Monday and the whole first week.
	restricted := func(s string) bool { return s != "*" && s != "?" }
	if restricted(fields[2]) && restricted(fields[4]) {
		return errors.New("day of month and day of week together fire on either day; set one of them to *")
	}
	return nil
}
