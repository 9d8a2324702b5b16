package console

import (
	"errors"
	"io"
	"slices"
	"strings"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/operator"
	"campaignd/recipients"
)

// columnsView is the page on which each value of the message gets its column.
type columnsView struct {
	draftView
	Header []string
	Fields []columnField
	Lines  []int // of the rows that are shown
	Lacks  bool  // a column has to be chosen
	Fault  string
}

// columnField is a value with the column that it is read from.
type columnField struct {
	file.Field
	Label  string
	Chosen string   // "": none is known
	Values []string // of the first rows
}

// rowsShown is the number of rows beside the columns.
const rowsShown = 3

// labels of fields that are no variables.
var labels = map[string]string{recipients.FieldTo: "Phone number", recipients.FieldTimezone: "Time zone"}

func newColumns(v *visit, dr campaign.Draft) (any, error) {
	out := columnsView{draftView: v.draftView(dr, stepColumns, "Columns")}
	x, err := v.process.Prepare(v.r.Context(), dr)
	if err != nil {
		return nil, err
	}
	defer x.End()
	look, err := lookAt(x)
	if err != nil {
		out.Fault = sentence(operator.WithoutFolder(err.Error(), x))
		return out, nil
	}
	out.Header, out.Lines = look.header, look.lines
	for _, f := range x.File.Definition.Fields() {
		c := columnField{Field: f, Label: labels[f.Name], Chosen: look.column(f)}
		for _, cells := range look.rows {
			value := ""
			if at := slices.Index(look.header, c.Chosen); at >= 0 && at < len(cells) {
				value = cells[at]
			}
			c.Values = append(c.Values, value)
		}
		out.Lacks = out.Lacks || c.Chosen == ""
		out.Fields = append(out.Fields, c)
	}
	return out, nil
}

// first is the beginning of a list.
type first struct {
	header []string
	rows   [][]string
	lines  []int
	to     string // the column that the phone number is read from; "": it is not known
}

// lookAt reads the header and the first rows of a list, whether or not the campaign knows its
// columns.
func lookAt(x *operator.Prepared) (out first, err error) {
	o := x.File.Definition.ListOptions(x.List)
	r, err := recipients.Open(x.List, o)
	known := err == nil
	var unknown *recipients.FileError
	if errors.As(err, &unknown) && len(unknown.Columns) > 0 {
		o.Columns = map[string]recipients.Names{recipients.FieldTo: {unknown.Columns[0]}}
		r, err = recipients.Open(x.List, o)
	}
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	out.header = r.Header()
	if known {
		out.to = out.header[r.Column(recipients.FieldTo)]
	} else if look, err := recipients.Look(x.List); err == nil && slices.Contains(out.header, look.To[0]) {
		out.to = look.To[0]
	}
	for len(out.rows) < rowsShown {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, err
		}
		out.rows, out.lines = append(out.rows, slices.Clone(row.Cells)), append(out.lines, row.Line)
	}
	return out, nil
}

// column proposes the column of a field: the one that the campaign names, or one with its name but
// for case, spaces and signs.
func (f first) column(field file.Field) string {
	if field.Name == recipients.FieldTo {
		return f.to
	}
	name := field.Name
	if len(field.Columns) > 0 {
		name = field.Columns[0]
	}
	if slices.Contains(f.header, name) {
		return name
	}
	for _, h := range f.header {
		if plain(h) == plain(name) || plain(h) == plain(field.Name) {
			return h
		}
	}
	return ""
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "", ".", "").Replace(s))
}

// mapColumns stores the columns in the campaign of the draft.
func mapColumns(v *visit, dr campaign.Draft) (done, error) {
	def, err := file.Parse(dr.Campaign+".yaml", dr.Source)
	if err != nil {
		return done{}, err
	}
	columns := map[string]string{}
	for _, f := range def.Fields() {
		if chosen := v.form.Get("column-" + f.Name); chosen != "" && (chosen != f.Name || len(f.Columns) > 0) {
			columns[f.Name] = chosen
		}
	}
	if len(columns) > 0 {
		if dr.Source, err = file.Mapped(dr.Source, columns); err != nil {
			return done{}, err
		}
	}
	return done{to: draftPath(dr.ID) + "/check"}, v.d.ChangeDraft(v.r.Context(), dr)
}
