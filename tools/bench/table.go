//go:build unix

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// table has the figures of measurements. A row has a value for each column, once a repetition.
type table struct {
	heads []string
	names []string // of the rows, in the order of their first values
	rows  map[string][][]float64
}

// newTable returns a table without rows. The first heads belong to the names; a name of several
// columns has tabs between them.
func newTable(heads ...string) *table { return &table{heads: heads, rows: map[string][][]float64{}} }

// blank in place of a value leaves its cell empty.
var blank = math.NaN()

// add adds the values of one repetition to a row.
func (t *table) add(name string, values ...float64) {
	if t.rows[name] == nil {
		t.names = append(t.names, name)
	}
	t.rows[name] = append(t.rows[name], values)
}

// print writes the medians with their extremes, below a title. A table without rows prints nothing.
func (t *table) print(out io.Writer, title string, a ...any) error {
	if len(t.names) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\n"+title+"\n", a...)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, strings.Join(t.heads, "\t"))
	for _, name := range t.names {
		cells := []string{name}
		for i := range t.rows[name][0] {
			var values []float64
			for _, repetition := range t.rows[name] {
				values = append(values, repetition[i])
			}
			cells = append(cells, figureOf(values).String())
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// figure is the median of several repetitions with their extremes.
type figure struct{ median, least, most float64 }

func figureOf(values []float64) figure {
	v := slices.Sorted(slices.Values(values))
	return figure{(v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[0], v[len(v)-1]}
}

// String prints large figures without a fraction and small ones with three digits after the point.
func (f figure) String() string {
	digits := 2
	switch {
	case math.IsNaN(f.median):
		return ""
	case f.median >= 1000:
		digits = 0
	case f.median >= 10:
		digits = 1
	case f.median < 0.1:
		digits = 3
	}
	return fmt.Sprintf("%.*f (%.*f..%.*f)", digits, f.median, digits, f.least, digits, f.most)
}

// inTurn measures the sides one directly after the other. Their order changes with the number of
// the repetition, so that other load on the machine affects all of them equally.
func inTurn(repetition int, sides ...func() error) error {
	for k := range sides {
		if err := sides[(k+repetition)%len(sides)](); err != nil {
			return err
		}
	}
	return nil
}
