package plot

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"
)

// Line is a count over time, against a limit. Points, limits and bands are in order of time.
type Line struct {
	ID       string // of the title; the only one in its page
	Title    string // says what the plot shows
	What     string // what is counted, for example "Accepted"
	From, To time.Time
	Zone     *time.Location // nil: UTC
	// Step is how long each point lasts. Between points nothing was counted.
	Step   time.Duration
	Points []Point
	Limits []Limit
	Bands  []Band
	End    string // names the line at To, for example "end" or "now"; "": none
	// Stamped gives each label of the axis its time, for a script that writes it in another zone.
	Stamped bool
}

// Point is a value from At on, for one step.
type Point struct {
	At    time.Time
	Value float64
}

// Limit is a limit from At on, until the next one. A Value that is not positive is no limit.
type Limit struct {
	At    time.Time
	Value float64
	Why   string
}

// Band is a time with a name, such as a hold.
type Band struct {
	From, To time.Time
	Name     string
}

const lineHeight = 300 // pixels

// SVG is the drawing.
func (l *Line) SVG() template.HTML {
	var d drawing
	limits := l.limits()
	most, highest := 0.0, 0.0
	for _, p := range l.Points {
		most = max(most, p.Value)
	}
	for _, x := range limits {
		highest = max(highest, x.Value)
	}
	// A limit far above what was counted would press the line to the ground.
	if highest <= 2.5*most || most == 0 {
		most = max(most, highest)
	}
	named := namedLimits(limits)
	top, _ := scale(most)
	free := func(y float64) bool {
		return !slices.ContainsFunc(named, func(x Limit) bool {
			return l.x(x.At) < 250 && math.Abs(1000*(1-min(x.Value, top)/top)-y) < 80
		})
	}
	d.grid(most, free)
	l.bands(&d)
	l.area(&d, top)
	l.limitLine(&d, limits, named, top)
	if l.End != "" {
		d.shape(`<path class="now" d="M1000 0V1000"/>`)
		d.text("strong", 1000, 0, -6, end, l.End)
	}
	at, step := instants(l.From, l.To, l.zone())
	for _, t := range at {
		stamp := ""
		if l.Stamped {
			stamp = ` data-at="` + t.UTC().Format(time.RFC3339) + `"`
		}
		d.below(l.x(t), label(t.In(l.zone()), step), stamp)
	}
	return template.HTML(d.svg(l.ID, l.Title, lineHeight)) //nolint:gosec // each text is escaped
}

func escapedTitle(s string) string { return html.EscapeString(Text(s, 600)) }

func (l *Line) zone() *time.Location {
	if l.Zone == nil {
		return time.UTC
	}
	return l.Zone
}

// x is the place of an instant, from 0 to 1000.
func (l *Line) x(t time.Time) float64 {
	span := l.To.Sub(l.From)
	if span <= 0 {
		return 0
	}
	return min(max(1000*float64(t.Sub(l.From))/float64(span), 0), 1000)
}

// bands draws the bands. A name is written once, and again in bands that are wide enough for it.
func (l *Line) bands(d *drawing) {
	free, last := 0.0, -1.0 // where the next name and the next band may begin
	written := map[string]bool{}
	for _, b := range l.Bands {
		from, to := l.x(b.From), l.x(b.To)
		to = max(to, min(from+2, 1000))
		if to <= last || b.To.Before(l.From) || b.From.After(l.To) {
			continue
		}
		from = max(from, last)
		last = to
		d.shape(`<rect class="halt" x="%s" width="%s" height="1000"/>`, decimal(from), decimal(to-from))
		half := 12 * float64(len([]rune(Text(b.Name, maxText)))) // of the name on a phone
		centre := min(max((from+to)/2, half), 1000-half)
		if b.Name != "" && centre-half >= free && (!written[b.Name] || to-from > 2*half) {
			d.text("halt-text", centre, 940, 0, middle, b.Name)
			free, written[b.Name] = centre+half, true
		}
	}
}

// area draws the points as steps, because each lasts for one.
func (l *Line) area(d *drawing, top float64) {
	var path strings.Builder
	path.WriteString("M0 1000")
	at := l.From
	for _, p := range l.Points {
		until := p.At.Add(l.Step)
		if !until.After(l.From) || p.At.After(l.To) {
			continue
		}
		if p.At.After(at) {
			fmt.Fprintf(&path, "V1000H%s", decimal(l.x(p.At)))
		}
		fmt.Fprintf(&path, "V%sH%s", decimal(1000*(1-min(max(p.Value, 0), top)/top)), decimal(l.x(until)))
		at = until
	}
	path.WriteString("V1000")
	d.shape(`<path class="area" d="%s"/><path class="line" d="%[1]s"/>`, path.String())
}

// limits returns one limit for each step at most: the last one of it.
func (l *Line) limits() []Limit {
	var kept []Limit
	for _, x := range l.Limits {
		if x.At.After(l.To) || math.IsNaN(x.Value) || math.IsInf(x.Value, 0) {
			continue
		}
		if x.At.Before(l.From) {
			x.At = l.From
		}
		n := len(kept)
		if n > 0 && x.At.Sub(l.From)/max(l.Step, 1) == kept[n-1].At.Sub(l.From)/max(l.Step, 1) {
			x.At = kept[n-1].At
			kept = kept[:n-1]
		}
		if n := len(kept); n == 0 || kept[n-1].Value != x.Value || kept[n-1].Why != x.Why {
			kept = append(kept, x)
		}
	}
	return kept
}

// namedLimits returns the first limit and, if it is another one, the last.
func namedLimits(limits []Limit) []Limit {
	is := slices.DeleteFunc(slices.Clone(limits), func(x Limit) bool { return x.Value <= 0 })
	switch {
	case len(is) == 0:
		return nil
	case is[0].Value == is[len(is)-1].Value:
		return is[:1]
	}
	return []Limit{is[0], is[len(is)-1]}
}

func (l *Line) limitLine(d *drawing, limits, named []Limit, top float64) {
	var path strings.Builder
	drawn := false
	for i, x := range limits {
		until := 1000.0
		if i+1 < len(limits) {
			until = l.x(limits[i+1].At)
		}
		if x.Value <= 0 || x.Value > top {
			drawn = false
			continue
		}
		y := decimal(1000 * (1 - x.Value/top))
		if drawn {
			fmt.Fprintf(&path, "V%sH%s", y, decimal(until))
		} else {
			fmt.Fprintf(&path, "M%s %sH%s", decimal(l.x(x.At)), y, decimal(until))
		}
		drawn = true
	}
	if path.Len() > 0 {
		d.shape(`<path class="limit" d="%s"/>`, path.String())
	}
	for i, x := range named {
		name := "limit " + Count(int64(math.Round(x.Value)))
		if x.Why != "" {
			name += " (" + Text(x.Why, 40) + ")"
		}
		y, dy := 1000*(1-min(x.Value, top)/top), -7
		if x.Value > top {
			name += ", above this plot"
		}
		if i == 0 {
			d.text("limit-text", 0, y, dy, start, name)
			continue
		}
		d.text("limit-text", 995, y, dy, end, name)
	}
}

// Table has the figures of the drawing.
func (l *Line) Table() *Table {
	t := &Table{Caption: l.Title, Columns: []Column{{"From, " + l.zone().String(), Words}, {l.What, Number}, {"Limit", Number},
		{"Limited by", Minor}}}
	limits, now := l.limits(), Limit{}
	for _, p := range l.Points {
		for len(limits) > 0 && !limits[0].At.After(p.At) {
			now, limits = limits[0], limits[1:]
		}
		row := []Cell{{Text: p.At.In(l.zone()).Format("2 Jan 15:04")}, {Text: amount(p.Value)}, {}, {Text: now.Why}}
		if now.Value > 0 {
			row[2].Text = amount(now.Value)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// amount writes a value: whole, or with a decimal if it is small.
func amount(v float64) string {
	if v < 10 && v != math.Trunc(v) {
		return decimal(v)
	}
	return Count(int64(math.Round(v)))
}
