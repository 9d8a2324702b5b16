package file

import (
	"encoding/json"
	"slices"

	"campaignd/recipients"
)

// Field is what a row of a list fills: the recipient, or a variable of the message.
type Field struct {
	Name string // recipients.FieldTo and such, or the name of a variable
	// Columns are the names that recipients.columns gives; none: the column of the same name.
	Columns []string
	Default string // of a variable without a value
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

// Mapped returns the campaign file src with other columns for some fields: recipients.columns. The
// error is a *Error if the file is at fault with them.
func Mapped(src []byte, columns map[string]string) ([]byte, error) {
	sidecar, err := json.Marshal(map[string]any{"recipients": map[string]any{"columns": columns}}) // JSON is YAML
	if err != nil {
		return nil, err
	}
	merged, _, err := Override(src, "the columns", sidecar)
	return merged, err
}
