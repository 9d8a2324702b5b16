package file_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign/file"
)

const fieldsFile = `name: spring
connections: [conn_1]
template: {name: a, language: en, body: ["Dear {{ .name }}", "{{ .code }} {{ .name }}"], buttons: [{type: url, text: "{{ .slug }}"}]}
recipients: {file: l.csv, columns: {name: First name}}
variables: {code: {default: NONE}}
window: {timezone: recipient, hours: "09:00-18:00"}
`

func TestFieldsAreWhatARowFills(t *testing.T) {
	d, err := file.Parse("c.yaml", []byte(fieldsFile))
	if err != nil {
		t.Fatal(err)
	}
	want := []file.Field{{Name: "to"}, {Name: "timezone"}, {Name: "name", Columns: []string{"First name"}}, {Name: "code", Default: "NONE"},
		{Name: "slug"}}
	if diff := cmp.Diff(want, d.Fields()); diff != "" {
		t.Errorf("fields -want +got:\n%s", diff)
	}
}

func TestOtherColumnsChangeNothingElse(t *testing.T) {
	got, err := file.Mapped([]byte(fieldsFile), map[string]string{"to": "Mobile \"new\"", "code": "Code: 1", "name": "Vorname"},
		map[string]string{"name": "you: \"all\"", "code": ""})
	if err != nil {
		t.Fatal(err)
	}
	d, err := file.Parse("c.yaml", got)
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string]string{}
	for name, names := range d.Recipients.Columns {
		columns[name] = names[0]
	}
	want := map[string]string{"to": "Mobile \"new\"", "code": "Code: 1", "name": "Vorname"}
	if diff := cmp.Diff(want, columns); diff != "" || d.Recipients.File != "l.csv" {
		t.Errorf("columns -want +got:\n%s", diff)
	}
	if name, code := d.Variables["name"].Default, d.Variables["code"].Default; name != `you: "all"` || code != "" {
		t.Errorf("got the defaults %q and %q, want the one that was given, and none", name, code)
	}
	if _, err := file.Mapped([]byte("name: 7"), nil, nil); err == nil {
		t.Error("a campaign file at fault: got no error, want one")
	}
}
