package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// maxLines is how many lines of a grid are drawn at most, beside the line of zero.
const maxLines = 5

// scale returns the top of an axis of counts from 0, and the distance of its lines: 1, 2 or 5 times
// a power of ten, or a whole number below 10.
func scale(most float64) (top, step float64) {
	if !(most > 0) || math.IsInf(most, 1) {
		return 1, 1
	}
	step = math.Pow(10, math.Floor(math.Log10(most)))
	for _, part := range []float64{0.2, 0.5, 1, 2} {
		if most <= maxLines*part*step {
			step *= part
			break
		}
	}
	step = max(step, 1)
	return step * math.Ceil(most/step), step
}

// steps are the distances of the labels on an axis of time.
var steps = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
	30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 2 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour, 28 * 24 * time.Hour, 91 * 24 * time.Hour,
}

// maxLabels is how many labels fit on a phone.
const maxLabels = 6

// instants returns where the labels of an axis from one instant to another are: whole steps of the
// zone's clock.
func instants(from, to time.Time, zone *time.Location) (at []time.Time, step time.Duration) {
	span := to.Sub(from)
	i := slices.IndexFunc(steps, func(s time.Duration) bool { return span/s < maxLabels })
	if i < 0 {
		return nil, 0
	}
	step = steps[i]
	local := from.In(zone)
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, zone)
	first := day.Add((from.Sub(day) + step - 1) / step * step)
	if step >= 24*time.Hour {
		first = day
	}
	for t := first; !t.After(to); t = next(t, step) {
		if !t.Before(from) {
			at = append(at, t)
		}
	}
	return at, step
}

// next is the label after t. Days are calendar days, which may have 23 or 25 hours.
func next(t time.Time, step time.Duration) time.Time {
	if days := int(step / (24 * time.Hour)); days > 0 {
		return t.AddDate(0, 0, days)
	}
	return t.Add(step)
}

// label writes an instant of the axis. Midnight is the day that begins.
func label(t time.Time, step time.Duration) string {
	switch {
	case step >= 24*time.Hour || t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0:
		return t.Format("2\u00a0Jan")
	case step < time.Minute:
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}

// drawing collects the elements of a plot: shapes in units of a thousandth, texts in percent.
type drawing struct{ shapes, texts strings.Builder }

func (d *drawing) shape(format string, args ...any) { fmt.Fprintf(&d.shapes, format, args...) }

// The inner svg leaves room above for a label and below for the axis.
const (
	innerTop    = 7.0  // percent of the height
	innerHeight = 83.0 // percent of the height
)

// Anchors of texts.
const (
	start  = "start"
	middle = "middle"
	end    = "end"
)

// text writes at x thousandths from the left and y thousandths from the top of the inner svg.
func (d *drawing) text(class string, x, y float64, dy int, anchor, s string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(&d.texts, `<text%s x="%s%%" y="%s%%" dy="%d" text-anchor="%s">%s</text>`,
		class, decimal(x/10), decimal(innerTop+y*innerHeight/1000), dy, anchor, escaped(s))
}

// below writes a label of the horizontal axis, with more attributes.
func (d *drawing) below(x float64, s, attributes string) {
	anchor := middle
	switch {
	case x < 40:
		anchor = start
	case x > 960:
		anchor = end
	}
	fmt.Fprintf(&d.texts, `<text x="%s%%" y="98.5%%" text-anchor="%s"%s>%s</text>`, decimal(x/10), anchor, attributes, escaped(s))
}

// grid draws the lines of an axis of counts, and writes the counts that free leaves.
func (d *drawing) grid(most float64, free func(y float64) bool) {
	top, step := scale(most)
	for v := 0.0; v <= top; v += step {
		y := 1000 * (1 - v/top)
		d.shape(`<path class="axis" d="M0 %sH1000"/>`, decimal(y))
		if v > 0 && free(y) {
			d.text("", 0, y, -5, start, Count(int64(v)))
		}
	}
}

// svg puts the elements together. id is the id of the title in its page.
func (d *drawing) svg(id, title string, height int) string {
	return fmt.Sprintf(`<svg class="plot" width="100%%" height="%d" role="img" aria-labelledby="%s"><title id="%[2]s">%s</title>`+
		`<svg y="%s%%" width="100%%" height="%s%%" viewBox="0 0 1000 1000" preserveAspectRatio="none">%s</svg>%s</svg>`,
		height, escaped(id), escapedTitle(title), decimal(innerTop), decimal(innerHeight), d.shapes.String(), d.texts.String())
}
