package plot

import (
	"cmp"
	"fmt"
	"html"
	"slices"
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
	return percentOf(n, all, (n*1000+all/2)/all)
}

// Percents are the shares of parts that together are all: they add up to 100.0 %, by the largest
// remainder. Parts that are not all together are rounded one by one, as by Percent.
func Percents(parts []int64, all int64) []string {
	texts, tenths, rest := make([]string, len(parts)), make([]int64, len(parts)), int64(1000)
	sum := int64(0)
	for i, n := range parts {
		texts[i] = Percent(n, all)
		sum += n
	}
	if sum != all || all <= 0 {
		return texts
	}
	order := make([]int, len(parts))
	for i, n := range parts {
		order[i], tenths[i] = i, n*1000/all
		rest -= tenths[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(parts[b]*1000%all, parts[a]*1000%all) })
	for place, i := range order {
		if int64(place) < rest {
			tenths[i]++
		}
		texts[i] = percentOf(parts[i], all, tenths[i])
	}
	return texts
}

// percentOf writes tenths of a percent, the rounded share of n in all.
func percentOf(n, all, tenths int64) string {
	switch {
	case n > 0 && tenths == 0:
		return "<\u00a00.1\u00a0%"
	case n < all && tenths >= 1000:
		return ">\u00a099.9\u00a0%"
	}
	return fmt.Sprintf("%d.%d\u00a0%%", tenths/10, tenths%10)
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
