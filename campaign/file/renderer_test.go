package file

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// A remedy shows every column: the right one may be the last.
func TestAllColumnsOfAListAreListed(t *testing.T) {
	var header []string
	for i := range 40 {
		header = append(header, fmt.Sprintf("column-%c%d", 'a'+i%10, i/10))
	}
	for n, want := range map[int]string{40: "the list's columns: " + strings.Join(header, ", "),
		1: "the list's columns: column-a0", 0: "the list's columns: "} {
		if got := new(Definition).columnsOf("x", header[:n]); got != want {
			t.Errorf("%d columns: got %s, want %s", n, got, want)
		}
	}
	header = []string{"column-a", "column-b"}
	want := `did you mean "column-a"? (the list's columns: column-a, column-b)`
	if got := new(Definition).columnsOf("Column A", header[:2]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A row's fault names the column, the button or the whole parameter.
func TestAFaultOfARowNamesItsColumnOrPart(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	use := TemplateUse{Body: []string{"{{ .a }}{{ .b }}"},
		Buttons: []Button{{"quick_reply", "r"}, {"url", "{{ .u }}/{{ .v }}"}}, OTP: "{{ .o }}"}
	d := &Definition{Name: "d", Template: use, Variables: map[string]Variable{"b": {Default: " none "}}}
	r, err := d.Compile([]string{"a", "b", "u", "v", "o"})
	if err != nil {
		t.Fatal(err)
	}
	r.Hydrate("Hi {{1}}", []string{"", "https://abc/{{1}}"}) // fixed texts of 3 and 12 characters
	good := VariableError{}
	for name, c := range map[string]struct {
		cells []string
		want  VariableError
	}{
		"fine":             {[]string{"A", "B", "u", "v", "1"}, good},
		"the longest body": {[]string{x(500), x(521), "u", "v", "1"}, good},
		"a body longer by one": {[]string{x(500), x(522), "u", "v", "1"},
			VariableError{Reason: campaign.InvalidVariable,
				Sentence: "the body gets 1025 characters with this row's values; at most 1024 are allowed"}},
		"the longest address": {[]string{"A", "B", x(1000), x(987), "1"}, good},
		"an address too long": {[]string{"A", "B", x(1000), x(988), "1"},
			VariableError{Reason: campaign.InvalidVariable, Sentence: "the address of button 2 gets 2001 characters; at most 2000 are allowed"}},
		"a parameter too long": {[]string{x(1000), x(25), "u", "v", "1"},
			VariableError{Reason: campaign.InvalidVariable,
				Sentence: "template.body[0] has 1025 characters; at most 1024 are allowed"}},
		"the second of two": {[]string{"A", "a\tb", "u", "v", "1"},
			VariableError{Reason: campaign.InvalidVariable, Column: "b", Sentence: "has a tab"}},
		"the second of an url": {[]string{"A", "B", "u", "a b", "1"},
			VariableError{Reason: campaign.InvalidVariable, Column: "v", Sentence: "has a space, which an address cannot have"}},
		"the only one": {[]string{"A", "B", "u", "v", "1/2"},
			VariableError{Reason: campaign.InvalidVariable, Column: "o",
				Sentence: "is not a one-time code: want letters, digits and signs without spaces, links or emoji"}},
		"a default": {[]string{"A", " ", "u", "v", "1"}, good},
		"no value": {[]string{"", "B", "u", "v", "1"},
			VariableError{Reason: campaign.MissingVariable, Column: "a", Sentence: "has no value"}},
		"too few cells": {[]string{"A", "B", "u", "v"},
			VariableError{Reason: campaign.MissingVariable, Column: "o", Sentence: "has no value"}},
		"spaces of two columns": {[]string{"A", "    B", "u", "v", "1"}, good},
	} {
		var got VariableError
		if err := r.Check(c.cells); err != nil {
			var v *VariableError
			if !errors.As(err, &v) {
				t.Errorf("%s: got %v, want a *VariableError", name, err)
				continue
			}
			got = *v
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	m, err := r.Message("c", "", &campaign.Delivery{Cells: []string{"A", "", "u", "v", "1"}})
	if err != nil || m.Template.Body[0] != "Anone" || m.Template.Buttons[0].Text != "r" ||
		m.Template.Buttons[1].Text != "u/v" || m.Template.OTP != "1" {
		t.Errorf("got %+v, %v, want Anone, r, u/v, 1", m, err)
	}
	if got := r.CodeLength([]string{"A", "B", "u", "v", "1"}); got != 0 {
		t.Errorf("the longest coupon of none has %d characters, want 0", got)
	}
}

// A text whose variables cannot be read is a fault at its path, and binds nothing.
func TestATextThatCannotBeReadIsMissing(t *testing.T) {
	for text, want := range map[string]string{
		"{{ .a": `"{{ .a" opens a variable and does not close it: want {{ .name }}`,
		"a }}":  `"a }}" closes a variable that was not opened: want {{ .name }}`,
	} {
		p, missing := (&Definition{}).parameter(0, "template.body[0]", text, []string{"a"})
		if len(p.slots) != 0 || len(missing) != 1 || missing[0] != (MissingColumn{Path: "template.body[0]", What: want}) {
			t.Errorf("%q: %d slots, missing %+v, want none and %s", text, len(p.slots), missing, want)
		}
	}
}

// A variable of the template that the campaign does not fill stays visible.
func TestAnUnfilledVariableStaysVisible(t *testing.T) {
	for text, want := range map[string]string{
		"Hi {{1}}, {{2}}!": "Hi Ada, {{2}}!", "Hi {{2}}, {{1}}": "Hi {{2}}, Ada", "{{1}} {{ 1 }}": "Ada Ada", "Hi": "Hi",
		"{{1": "{{1", "{{1}} {{": "Ada {{",
	} {
		if got := Filled(messaging.Component{Text: text}, []string{"Ada"}); got != want {
			t.Errorf("%q is filled to %q, want %q", text, got, want)
		}
	}
}

// A path that is not in the schema is an error that names it.
func TestASchemaHasEveryPathThatIsNoted(t *testing.T) {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	limits := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	limits.Properties.Set("rate", &jsonschema.Schema{Type: "number"})
	s.Properties.Set("limits", limits)
	for path, want := range map[string]string{
		"limits.rate": "", "limits.most": "campaign schema: limits.most: no such property",
		"policies.most":      "campaign schema: policies.most: no such property",
		"limits.rate.most.x": "campaign schema: limits.rate.most.x: nothing below",
	} {
		got := ""
		if _, err := property(s, path); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
