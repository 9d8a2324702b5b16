package file

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const overridden = `name: spring # the name
connections: [conn_1]
template: {name: spring_sale, language: en_US}
recipients:
  columns: {to: phone}
  default_region: NG
limits: {rate: 40, not_after: 48h}
`

func TestASidecarOverridesListWindowAndLimits(t *testing.T) {
	merged, again, err := Override([]byte(overridden), "list.csv.yaml", []byte(`
recipients: {delimiter: semicolon, columns: {to: mobile}}
limits: {rate: 10}
window: {hours: "09:00-18:00", timezone: Africa/Lagos}
again: true
`))
	if err != nil || again == nil || !*again {
		t.Fatalf("got again %v and %v, want true and no error", again, err)
	}
	want := []string{
		"limits.rate: was 40, is 10",
		`recipients.columns.to: was "phone", is "mobile"`,
		`recipients.delimiter: was not set, is "semicolon"`,
		`window: was not set, is {"hours":"09:00-18:00","timezone":"Africa/Lagos"}`,
	}
	if diff := cmp.Diff(want, Differences([]byte(overridden), merged)); diff != "" {
		t.Errorf("the merged campaign, -want +got:\n%s\n%s", diff, merged)
	}
}

// Editors of Windows write a byte order mark, which is no part of the first key.
func TestASidecarMayBeginWithAByteOrderMark(t *testing.T) {
	const mark = "\uFEFF"
	merged, _, err := Override([]byte(mark+overridden), "list.csv.yaml", []byte(mark+"limits: {rate: 10}\n"))
	if diff := cmp.Diff([]string{"limits.rate: was 40, is 10"}, Differences([]byte(overridden), merged)); err != nil || diff != "" {
		t.Errorf("both files begin with a mark: %v and -want +got:\n%s", err, diff)
	}
	mapped, err := Mapped([]byte(mark+overridden), map[string]string{"to": "mobile"}, nil)
	want := []string{`recipients.columns.to: was "phone", is "mobile"`}
	if diff := cmp.Diff(want, Differences([]byte(overridden), mapped)); err != nil || diff != "" {
		t.Errorf("other columns: %v and -want +got:\n%s", err, diff)
	}
}

func TestASidecarCannotOverrideTheRest(t *testing.T) {
	for _, tt := range []struct{ sidecar, want string }{
		{"name: other", "list.csv.yaml:1:1: name: a sidecar cannot override it"},
		{"limits: {rate: 1}\ntemplate: {name: x}", "list.csv.yaml:2:1: template: a sidecar cannot override it"},
		{"connections: [conn_2]", "connections: a sidecar cannot override it"},
		{"policies: {approval: false}", "policies: a sidecar cannot override it"},
		{"recipients: {file: /etc/passwd}", "recipients.file: the list is the file"},
		{"limits: {rte: 1}", "list.csv.yaml:1"},
		{"limits: {rate: fast}", "list.csv.yaml:1"},
		{"limits: &a {rate: 1}", "anchors and aliases"},
		{"limits: {rate: -1}", "the campaign with list.csv.yaml"},
		{"limits: {rate: 1}\nagain: weekly", "list.csv.yaml:2:8: again: want true or false"},
		{"limits: {again: true}", "list.csv.yaml:1"},
		{"- 1", "list.csv.yaml:1"},
		{"", "list.csv.yaml"},
		{"limits: {rate: 1}\n---\nlimits: {}", "a second document"},
	} {
		merged, _, err := Override([]byte(overridden), "list.csv.yaml", []byte(tt.sidecar))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %s and %v, want an error with %q", tt.sidecar, merged, err, tt.want)
		}
	}
}
