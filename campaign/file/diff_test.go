package file_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign/file"
)

func TestDifferencesNameEachValueAndIgnoreSpelling(t *testing.T) {
	same := `# the same
connections: ["conn_1", conn_2]
name: spring-sale
template: {name: spring_sale, language: en_US, body: ["{{ .first_name }}", '{{ .discount }}'],
  header: {image: {assetId: ast_1}}, buttons: [{type: url, text: "{{ .slug }}"}]}
recipients: {validate: possible, columns: {to: phone}}
policies: {on_uncertain: hold, doubt_window: 2400s}
`
	if got := file.Differences([]byte(springFile), []byte(same)); got != nil {
		t.Errorf("differences = %q, want none", got)
	}
	other := strings.NewReplacer("conn_1, conn_2", "conn_1", "{{ .discount }}", "20 %", "recipients:",
		"limits: {rate: 40}\nrecipients:").Replace(springFile)
	want := []string{`connections: was ["conn_1","conn_2"], is ["conn_1"]`, `limits.rate: was not set, is 40`,
		`template.body[1]: was "{{ .discount }}", is "20 %"`}
	if diff := cmp.Diff(want, file.Differences([]byte(springFile), []byte(other))); diff != "" {
		t.Errorf("differences -want +got:\n%s", diff)
	}
	if got := file.Differences([]byte(springFile), []byte("name: x\nnonsense: 1\n")); len(got) != 1 ||
		!strings.HasPrefix(got[0], "the file cannot be read any more: campaign:") {
		t.Errorf("got %q, want that it cannot be read any more", got)
	}
	if got := file.Differences([]byte("old: 1"), []byte(springFile)); len(got) != 1 {
		t.Errorf("got %q, want one line", got)
	}
	if got := file.Differences([]byte("old: 1"), []byte("old: 1")); got != nil {
		t.Errorf("differences = %q, want none", got)
	}
	want = []string{"neither file can be read by this version, and they differ"}
	if diff := cmp.Diff(want, file.Differences([]byte("old: 1"), []byte("old: 2"))); diff != "" {
		t.Errorf("differences -want +got:\n%s", diff)
	}
}

const springFile = `name: spring-sale
connections: [conn_1, conn_2]
template:
  name: spring_sale
  language: en_US
  body: ["{{ .first_name }}", "{{ .discount }}"]
  header: {image: {assetId: ast_1}}
  buttons: [{type: url, text: "{{ .slug }}"}]
recipients: {columns: {to: phone}, validate: possible}
`
