package file

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml"

	"campaignd/recipients"

	"campaignd/internal/yamlfile"
)

// Field is what a row of a list fills: the recipient, or a variable of the message.
type Field struct {
	Name string // recipients.FieldTo and such, or the name of a variable
	// Columns are the names that recipients.columns gives; none: the column of the same name.
	Columns []string
	Default string // of a variable without a value
}

// IsVariable reports whether the field is a variable of the message.
func (f Field) IsVariable() bool {
	return f.Name != recipients.FieldTo && f.Name != recipients.FieldTimezone
}

// Fields returns what rows fill, each once, in the order of the message. The time zone is one of
// them if the window is in the zone of the recipients.
func (d *Definition) Fields() []Field {
	names := []string{recipients.FieldTo}
	if d.Window != nil && d.Window.Timezone == "recipient" {
		names = append(names, recipients.FieldTimezone)
	}
	texts := slices.Clone(d.Template.Body)
	for _, b := range d.Template.Buttons {
		texts = append(texts, b.Text)
	}
	texts = append(texts, d.Template.OTP)
	if _, m := d.Template.Header.Media(); m != nil {
		texts = append(texts, m.Link)
	}
	for _, text := range texts {
		names = append(names, variables(text)...)
	}
	var out []Field
	for _, name := range names {
		if !slices.ContainsFunc(out, func(f Field) bool { return f.Name == name }) {
			out = append(out, Field{name, d.Recipients.Columns[name], d.Variables[name].Default})
		}
	}
	return out
}

// Mapped returns the campaign file src with other columns for some fields (recipients.columns), and
// with other values for rows whose cell is empty (variables.NAME.default; "" takes one away). The
// error is a *Error if the file is at fault with them.
func Mapped(src []byte, columns, defaults map[string]string) ([]byte, error) {
	var all, chosen yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(yamlfile.Text(src), &all, yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("campaign file: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		chosen = append(chosen, yaml.MapItem{Key: name, Value: columns[name]})
	}
	if len(chosen) > 0 {
		all = merge(all, within("recipients", within("columns", chosen)))
	}
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if defaults[name] == "" {
			all = without(all, "variables", name, "default")
			continue
		}
		all = merge(all, within("variables", within(name, within("default", defaults[name]))))
	}
	out, err := yaml.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("campaign file: %w", err)
	}
	_, err = Parse("the campaign with the columns", out)
	return out, err
}

// within is a map of one key.
func within(key string, value any) yaml.MapSlice { return yaml.MapSlice{{Key: key, Value: value}} }

// without is m without the value at a path, and without the maps that are empty then.
func without(m yaml.MapSlice, path ...string) yaml.MapSlice {
	out := slices.Clone(m)
	at := slices.IndexFunc(out, func(o yaml.MapItem) bool { return o.Key == path[0] })
	if at < 0 {
		return out
	}
	if inner, ok := out[at].Value.(yaml.MapSlice); ok && len(path) > 1 {
		if inner = without(inner, path[1:]...); len(inner) > 0 {
			out[at].Value = inner
			return out
		}
	}
	return slices.Delete(out, at, at+1)
}
