package plot

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxText is how many characters of a text are drawn.
const maxText = 160

// Text makes a text fit for a page: at most n characters, and an ellipsis for the rest. Characters
// that would hide or turn the text around it are replaced: control and format characters, such as
// those that change the direction of writing, and broken UTF-8. It does not escape.
func Text(s string, n int) string {
	for i := range s {
		if n == 0 {
			s = s[:i] + "…"
			break
		}
		n--
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == unicode.ReplacementChar || !unicode.IsGraphic(r) && !unicode.IsSpace(r):
			return '·'
		case unicode.IsSpace(r) && !unicode.IsGraphic(r):
			return ' '
		}
		return r
	}, s)
}

func escaped(s string) string { return html.EscapeString(Text(s, maxText)) }

// Count writes a number with narrow spaces between its thousands.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// Percent is n of all, to a tenth; "" of nothing. More than nothing is never written as 0.0, and
// less than all never as 100.0.
func Percent(n, all int64) string {
	if all <= 0 {
		return ""
	}
	tenths := math.Round(1000 * float64(n) / float64(all))
	switch {
	case n > 0 && tenths == 0:
		return "<\u00a00.1\u00a0%"
	case n < all && tenths >= 1000:
		return ">\u00a099.9\u00a0%"
	}
	return strconv.FormatFloat(tenths/10, 'f', 1, 64) + "\u00a0%"
}

// Duration writes a duration in its largest unit, below ten of it with the next one, or in seconds
// with at most one decimal.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d\u00a0ms", d.Milliseconds())
	case d < 10*time.Second-50*time.Millisecond:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + "\u00a0s"
	}
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d\u00a0s", d/time.Second)
	case d < time.Hour:
		return units(d, time.Minute, "min", time.Second, "s")
	case d < day:
		return units(d, time.Hour, "h", time.Minute, "min")
	}
	return units(d, day, "d", time.Hour, "h")
}

func units(d, large time.Duration, l string, small time.Duration, s string) string {
	text := fmt.Sprintf("%d\u00a0%s", d/large, l)
	if rest := d % large / small; rest > 0 && d < 10*large {
		text += fmt.Sprintf(" %d\u00a0%s", rest, s)
	}
	return text
}

// decimal writes a coordinate.
func decimal(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}
