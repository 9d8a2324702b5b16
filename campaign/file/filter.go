package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// filter is one column of Audience.Where.
type filter struct {
	column int
	header string
	values []string // cleaned
}

// filters finds the columns of Audience.Where, in the order of their names.
func (d *Definition) filters(header []string) (fs []filter, missing []MissingColumn) {
	for _, column := range slices.Sorted(maps.Keys(d.Recipients.Where)) {
		path, name := "recipients.where."+column, strings.TrimSpace(column)
		switch at, twice := columnNamed(name, header); {
		case twice:
			missing = append(missing, MissingColumn{path, fmt.Sprintf("the list has several columns %q", name), "rename all but one"})
		case at < 0:
			missing = append(missing, MissingColumn{path, fmt.Sprintf("the list has no column %q", name), d.columnsOf(name, header)})
		default:
			f := filter{column: at, header: name}
			for _, v := range d.Recipients.Where[column] {
				f.values = append(f.values, clean(v))
			}
			fs = append(fs, f)
		}
	}
	return fs, missing
}

// Filtered returns the first column of Audience.Where in which a row has none of the values.
func (r *Renderer) Filtered(cells []string) (column string, filtered bool) {
	for i := range r.where {
		f := &r.where[i]
		cell := ""
		if f.column < len(cells) {
			cell = clean(cells[f.column])
		}
		if !slices.ContainsFunc(f.values, func(v string) bool { return strings.EqualFold(v, cell) }) {
			return f.header, true
		}
	}
	return "", false
}
