package plot

import (
	"fmt"
	"html/template"
	"math"
	"time"
)

// Histogram is how often each duration occurred, on a logarithmic axis. Buckets are in order.
type Histogram struct {
	ID      string // of the title; the only one in its page
	Title   string // says what the plot shows
	Series  Series
	Buckets []Bucket
	Marks   []Mark
}

// Bucket counts durations of at least From and less than To.
type Bucket struct {
	From, To time.Duration
	N        int64
}

// Mark is a duration with a name, such as a percentile.
type Mark struct {
	At   time.Duration
	Name string
}

const (
	histogramHeight = 230 // pixels
	// shortest is where the axis begins: shorter durations are drawn there.
	shortest = 100 * time.Millisecond
	maxBars  = 40
)

// ticks are the labels of the axis.
var ticks = []time.Duration{
	shortest, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour,
	30 * 24 * time.Hour,
}

// bars adds the buckets up to at most maxBars of equal width on the axis, from low to high.
func (h *Histogram) bars() (bars []Bucket, low, high time.Duration) {
	low, high = 0, shortest
	for _, b := range h.Buckets {
		if b.N <= 0 {
			continue
		}
		if low == 0 {
			low = max(b.From, shortest)
		}
		high = max(high, b.To)
	}
	if low == 0 {
		return nil, shortest, time.Second
	}
	// At least a factor of ten, so that a few equal durations are no wall.
	high = max(high, 10*low)
	width := math.Pow(float64(high)/float64(low), 1.0/maxBars)
	bars = make([]Bucket, maxBars)
	edge := func(i int) time.Duration { return time.Duration(float64(low) * math.Pow(width, float64(i))) }
	for i := range bars {
		bars[i] = Bucket{From: edge(i), To: edge(i + 1)}
	}
	bars[0].From = min(bars[0].From, low)
	for _, b := range h.Buckets {
		if b.N <= 0 {
			continue
		}
		// The middle of a bucket decides; its ends may lie in two bars.
		middle := math.Sqrt(float64(max(b.From, 1)) * float64(max(b.To, 1)))
		i := int(math.Log(middle/float64(low)) / math.Log(width))
		bars[min(max(i, 0), maxBars-1)].N += b.N
	}
	return bars, low, high
}

// SVG is the drawing.
func (h *Histogram) SVG() template.HTML {
	var d drawing
	bars, low, high := h.bars()
	var most int64
	for _, b := range bars {
		most = max(most, b.N)
	}
	x := func(t time.Duration) float64 {
		return min(max(1000*math.Log(float64(max(t, low))/float64(low))/math.Log(float64(high)/float64(low)), 0), 1000)
	}
	d.shape(`<path class="axis" d="M0 1000H1000"/>`)
	for i, b := range bars {
		if b.N == 0 {
			continue
		}
		height := max(800*float64(b.N)/float64(most), 4) // the names of the marks are above
		d.shape(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, escaped(string(h.Series)),
			decimal(1000*float64(i)/maxBars+2), decimal(1000-height), decimal(1000.0/maxBars-4), decimal(height))
	}
	for i, m := range h.Marks {
		at, y := x(m.At), 80*float64(min(i, 3))
		d.shape(`<path class="now" d="M%s %sV1000"/>`, decimal(at), decimal(y))
		if at > 600 {
			d.text("strong", at-8, y, 12, end, m.Name)
		} else {
			d.text("strong", at+8, y, 12, start, m.Name)
		}
	}
	last := math.Inf(-1)
	for _, t := range ticks {
		if at := x(t); t >= low && t <= high && at-last > 120 { // so many are free of each other on a phone
			d.below(at, Duration(t), "")
			last = at
		}
	}
	return template.HTML(d.svg(h.ID, h.Title, histogramHeight)) //nolint:gosec // each text is escaped
}

// Table has the figures of the drawing, and the share that took no longer.
func (h *Histogram) Table() *Table {
	t := &Table{Caption: h.Title, Columns: []Column{{"Within", Words}, {"Messages", Number}, {"Together", Number}}}
	bars, _, _ := h.bars()
	var all, sum int64
	for _, b := range bars {
		all += b.N
	}
	for _, b := range bars {
		if sum += b.N; b.N > 0 {
			t.Rows = append(t.Rows, []Cell{{Text: fmt.Sprintf("%s to %s", Duration(b.From), Duration(b.To))},
				{Text: Count(b.N)}, {Text: Percent(sum, all)}})
		}
	}
	return t
}
