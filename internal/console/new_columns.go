package console

import (
	"errors"
	"fmt"
	"net/http"
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
	Chosen string   // "": not known
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
	look, err := x.Head(rowsShown)
	if err != nil {
		out.Fault = sentence(operator.WithoutFolder(err.Error(), x))
		return out, nil
	}
	if skip := x.File.Definition.Recipients.Skip; look.Skip != skip {
		out.Fault = fmt.Sprintf("Line %d looks like the header, and the campaign file says that the header is line %d. "+
			"Delete the lines above it in the list, or set recipients.skip: %d in the campaign file.", look.Skip+1, skip+1, look.Skip)
		return out, nil
	}
	out.Header = look.Header
	for _, row := range look.Rows {
		out.Lines = append(out.Lines, row.Line)
	}
	for _, f := range x.File.Definition.Fields() {
		c := columnField{Field: f, Label: labels[f.Name], Chosen: columnOf(look, f)}
		for _, row := range look.Rows {
			value := ""
			if at := slices.Index(look.Header, c.Chosen); at >= 0 && at < len(row.Cells) {
				value = row.Cells[at]
			}
			c.Values = append(c.Values, value)
		}
		out.Lacks = out.Lacks || c.Chosen == ""
		out.Fields = append(out.Fields, c)
	}
	return out, nil
}

// columnOf proposes the column of a field: the one that the campaign names, or one with its name
// but for case, spaces and signs.
func columnOf(look recipients.Head, field file.Field) string {
	if field.Name == recipients.FieldTo {
		return look.To
	}
	name := field.Name
	if len(field.Columns) > 0 {
		name = field.Columns[0]
	}
	if slices.Contains(look.Header, name) {
		return name
	}
	for _, h := range look.Header {
		if plain(h) == plain(name) || plain(h) == plain(field.Name) {
			return h
		}
	}
	return ""
}

func plain(s string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "", ".", "").Replace(s))
}

// mapColumns stores the columns in the campaign of the draft, and what rows with an empty cell get.
func mapColumns(v *visit, dr campaign.Draft) (done, error) {
	def, err := file.Parse(dr.Campaign+".yaml", dr.Source)
	if err != nil {
		return done{}, err
	}
	columns, defaults := map[string]string{}, map[string]string{}
	for _, f := range def.Fields() {
		if chosen := v.form.Get("column-" + f.Name); chosen != "" && (chosen != f.Name || len(f.Columns) > 0) {
			columns[f.Name] = chosen
		}
		if given, ok := v.form["default-"+f.Name]; ok && f.IsVariable() && given[0] != f.Default {
			defaults[f.Name] = given[0]
		}
	}
	if len(columns)+len(defaults) > 0 {
		dr.Source, err = file.Mapped(dr.Source, columns, defaults)
		if bad := (*file.Error)(nil); errors.As(err, &bad) {
			return done{}, &problem{http.StatusUnprocessableEntity, sentence(bad.Findings[0].What)}
		}
		if err != nil {
			return done{}, err
		}
	}
	return done{to: draftPath(dr.ID) + "/check"}, v.d.ChangeDraft(v.r.Context(), dr)
}
