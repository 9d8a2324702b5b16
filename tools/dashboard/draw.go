package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"
)

// Lengths are in pixels. A panel of 24 columns is 1,440 wide, and a row of the grid is 30 high, as
// in Grafana.
const (
	column, line  = 60.0, 30.0
	top, gap      = 46.0, 4.0
	left, right   = 66.0, 12.0 // of the plot in its panel
	above, below  = 30.0, 20.0
	legendLine    = 14.0
	fontSmall     = 10
	letter        = 5.4 // mean width of a letter of that size
	colors        = "#5794f2 #ff9830 #73bf69 #f2495c #b877d9 #fade2a #8ab8ff #ffb357 #96d98d #ff7383 #ca95e5 #37872d"
	ground, frame = "#111217", "#181b1f"
	faint, text   = "#2c3235", "#ccccdc"
)

// draw returns an SVG with all panels at their positions.
func draw(title string, panels []panel, all []scrape) []byte {
	var b bytes.Buffer
	height := 0.0
	for _, p := range panels {
		height = max(height, (p.GridPos.Y+p.GridPos.H)*line)
	}
	length := all[len(all)-1].At.Sub(all[0].At)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" `+
		`font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="%d" fill="%s">`+"\n",
		24*column, height+top, fontSmall, text)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="%s"/><text x="12" y="30" font-size="18">%s</text>`+"\n",
		ground, html.EscapeString(title))
	fmt.Fprintf(&b, `<text x="%g" y="30" text-anchor="end">a recorded run against the sandbox, %s, a scrape every %s</text>`+"\n",
		24*column-12, length.Round(time.Second), every)
	for _, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%g %g)">`, p.GridPos.X*column, p.GridPos.Y*line+top)
		if p.Type == "row" {
			fmt.Fprintf(&b, `<text x="12" y="21" font-size="14">%s</text>`, html.EscapeString(p.Title))
		} else {
			drawPanel(&b, p, length)
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func drawPanel(b *bytes.Buffer, p panel, length time.Duration) {
	w, h := p.GridPos.W*column-gap, p.GridPos.H*line-gap
	fmt.Fprintf(b, `<rect width="%g" height="%g" rx="2" fill="%s"/><text x="10" y="18" font-size="12">%s</text>`,
		w, h, frame, html.EscapeString(p.Title))
	if len(p.series) == 0 {
		fmt.Fprintf(b, `<text x="%g" y="%g" text-anchor="middle" font-size="14">No data</text>`, w/2, h/2)
		return
	}
	rows := legendRows(p.series, w-20)
	plotW, plotH := w-left-right, h-above-below-float64(len(rows))*legendLine-4
	most := 0.0
	for _, s := range p.series {
		for _, v := range s.values {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				most = max(most, v)
			}
		}
	}
	step := tick(most, p.Field.Defaults.Unit)
	ceiling := max(step, math.Ceil(most/step)*step)
	y := func(v float64) float64 { return above + plotH*(1-v/ceiling) }
	for v := 0.0; v <= ceiling+step/2; v += step {
		fmt.Fprintf(b, `<path d="M%g %.1fh%g" stroke="%s"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`,
			left, y(v), plotW, faint, left-5, y(v)+3.5, format(v, p.Field.Defaults.Unit))
	}
	for m := time.Duration(0); m <= length; m += time.Minute {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%d:00</text>`,
			left+plotW*m.Seconds()/length.Seconds(), above+plotH+14, int(m.Minutes()))
	}
	palette := strings.Fields(colors)
	stacked := p.Field.Defaults.Custom.Stacking.Mode == "normal"
	for i, s := range slices.Backward(p.series) { // of a stack the lowest is drawn last, over the others
		line, more := path(s.values, plotW, y), ""
		if p.dashed(s.name) {
			more = ` stroke-dasharray="6 4"`
		}
		if stacked {
			fmt.Fprintf(b, `<path fill="%s" d="%sV%.0fH%g"/>`, frame, line, y(0), left) // hides the series above
			fmt.Fprintf(b, `<path fill="%s" fill-opacity="0.4" d="%sV%.0fH%g"/>`, palette[i%len(palette)], line, y(0), left)
		}
		fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="1.3"%s d="%s"/>`, palette[i%len(palette)], more, line)
	}
	n := 0
	for i, row := range rows {
		x := 10.0
		for _, name := range row {
			at := above + plotH + below + float64(i)*legendLine + 10
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="10" height="3" fill="%s"/><text x="%.1f" y="%.1f">%s</text>`,
				x, at-5, palette[n%len(palette)], x+14, at, html.EscapeString(name))
			x += width(name)
			n++
		}
	}
}

func width(name string) float64 { return 14 + letter*float64(len(name)) + 14 }

// legendRows breaks the names of the series into lines.
func legendRows(all []series, w float64) (rows [][]string) {
	x := math.Inf(1)
	for _, s := range all {
		if x+width(s.name) > w {
			rows, x = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], s.name)
		x += width(s.name)
	}
	return rows
}

// path is the line of a series. Points between two equal ones are left out.
func path(values []float64, plotW float64, y func(float64) float64) string {
	var b strings.Builder
	pen := "M"
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			pen = "M"
			continue
		}
		if pen == "L" && i+1 < len(values) && values[i-1] == v && values[i+1] == v {
			continue
		}
		x := left + plotW*float64(i)/float64(max(1, len(values)-1))
		fmt.Fprintf(&b, "%s%.0f %.0f", pen, x, y(v))
		if pen == "M" {
			b.WriteString("h1") // a single point becomes visible
		}
		pen = "L"
	}
	return b.String()
}
