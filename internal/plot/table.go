package plot

import (
	"fmt"
	"html/template"
	"strings"
)

// Table is figures for reading, also the figures of a drawing. The first column heads its rows.
type Table struct {
	Caption string // says what the table shows; for screen readers
	Columns []Column
	Rows    [][]Cell
	Funnel  bool // large bars, and neither head nor lines
}

// Kind says how a column is written.
type Kind int

// The kinds of columns.
const (
	Words  Kind = iota
	Number      // at the right
	Bars        // left out on a phone, but of a funnel
	Minor       // as Words, and left out on a phone
)

// Column is the head of a column.
type Column struct {
	Name string
	Kind Kind
}

// Cell is a text, or a bar in a column of Bars.
type Cell struct {
	Text   string
	Strong bool
	Code   string // a code behind the text
	Bar    Bar
}

// Bar is a share of all as the length of a bar.
type Bar struct {
	Series Series
	N, Of  int64
}

// Series is what a colour stands for: a class of the page's style.
type Series string

// The series of the design language.
const (
	Sendable  Series = "f-skipped"
	Accepted  Series = "f-accepted"
	Sent      Series = "f-sent"
	Delivered Series = "f-delivered"
	Read      Series = "f-read"
	Failed    Series = "f-failed"
	Skipped   Series = "f-skipped"
)

// HTML is the table.
func (t *Table) HTML() template.HTML {
	var b strings.Builder
	class, head := "", ""
	if t.Funnel {
		class, head = ` class="funnel"`, ` class="hidden"`
	}
	fmt.Fprintf(&b, `<table%s><caption class="hidden">%s</caption><thead%s><tr>`, class, escaped(t.Caption), head)
	for _, c := range t.Columns {
		name := escaped(c.Name)
		if c.Kind == Bars {
			name = `<span class="hidden">` + name + `</span>`
		}
		fmt.Fprintf(&b, `<th scope="col"%s>%s</th>`, t.class(c), name)
	}
	b.WriteString("</tr></thead>\n<tbody>")
	for _, row := range t.Rows {
		b.WriteString("<tr>")
		for i, cell := range row[:min(len(row), len(t.Columns))] {
			c := t.Columns[i]
			element := "td"
			if i == 0 {
				element = `th scope="row"`
			}
			fmt.Fprintf(&b, "<%s%s>%s</%s>", element, t.class(c), t.content(c, cell), element[:2])
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table>")
	return template.HTML(b.String()) //nolint:gosec // each text is escaped
}

func (t *Table) class(c Column) string {
	switch {
	case c.Kind == Number:
		return ` class="num"`
	case c.Kind == Bars && t.Funnel:
		return ` class="wide"`
	case c.Kind == Bars:
		return ` class="bar hide-small"`
	case c.Kind == Minor:
		return ` class="hide-small"`
	}
	return ""
}

func (t *Table) content(c Column, cell Cell) string {
	text := escaped(cell.Text)
	switch {
	case c.Kind == Bars && cell.Bar.Series == "":
		return ""
	case c.Kind == Bars:
		return cell.Bar.svg(t.Funnel)
	case cell.Code != "":
		return text + " <code>" + escaped(cell.Code) + "</code>"
	case cell.Strong:
		return "<strong>" + text + "</strong>"
	}
	return text
}

// svg draws the bar before the whole of its track.
func (b Bar) svg(large bool) string {
	height, round := 12, 2
	if large {
		height, round = 18, 4
	}
	share := 0.0
	if b.Of > 0 {
		share = 100 * float64(min(max(b.N, 0), b.Of)) / float64(b.Of)
	}
	s := fmt.Sprintf(`<svg width="100%%" height="%d" aria-hidden="true">`+
		`<rect class="f-track" width="100%%" height="%[1]d" rx="%d"/>`, height, round)
	if share > 0 {
		// A few rows among many still show.
		s += fmt.Sprintf(`<rect class="%s" width="%s%%" height="%d" rx="%d"/>`,
			escaped(string(b.Series)), decimal(max(share, 0.5)), height, round)
	}
	return s + "</svg>"
}
