package campaign

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/sentence"
)

// Duration is a time.Duration that is written as 15m or 24h, in files and in JSON.
type Duration time.Duration

// DurationPattern is the syntax of ParseDuration as a regular expression, for the JSON Schema.
const DurationPattern = `^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$`

var durationUnits = []struct {
	suffix string
	unit   time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// ParseDuration reads 15m, 24h, 7d, 90s, 500ms or a sum of them with the largest unit first: 1d12h.
// A day is 24 hours. A bare number is an error, also 0, because it has no unit.
func ParseDuration(s string) (Duration, error) {
	fault := func() (Duration, error) {
		return 0, fmt.Errorf("%q is not a duration: want a number with a unit, for example 15m, 24h or 7d", sentence.Shorten(s, 40))
	}
	var sum time.Duration
	rest, next := s, 0
	for rest != "" {
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil {
			return fault()
		}
		letters := digits
		for letters < len(rest) && (rest[letters] < '0' || rest[letters] > '9') {
			letters++
		}
		unit := time.Duration(0)
		for i := next; i < len(durationUnits); i++ {
			if rest[digits:letters] == durationUnits[i].suffix {
				unit, next = durationUnits[i].unit, i+1
				break
			}
		}
		if unit == 0 || n > int64((1<<63-1-sum)/unit) {
			return fault()
		}
		sum += time.Duration(n) * unit
		rest = rest[letters:]
	}
	if s == "" {
		return fault()
	}
	return Duration(sum), nil
}

// String is the shortest form that ParseDuration reads: 15m, 24h, 1h30m. Hours are the largest
// unit.
func (d Duration) String() string {
	if d <= 0 {
		return "0s"
	}
	var b strings.Builder
	rest := time.Duration(d)
	for _, u := range durationUnits[1:] {
		if n := rest / u.unit; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.suffix)
			rest -= n * u.unit
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

// Std returns the duration as a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// MarshalText writes String, in YAML and in JSON.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = v
	return nil
}
