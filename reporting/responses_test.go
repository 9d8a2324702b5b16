package reporting

import (
	"bytes"
	"strings"
	"testing"

	"campaignd/campaign"
)

func TestTheReportTellsRepliesAndOptOuts(t *testing.T) {
	run, m := sample()
	m.responses = &campaign.Responses{Replied: 2, OptedOut: 1}
	r := built(t, run, m)
	text, err := r.JSON()
	if want := `"responses": {
    "replied": 2,
    "opted_out": 1
  },`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the report in JSON, %v: got\n%s\nwant\n%s", err, text, want)
	}
	var b bytes.Buffer
	if err := r.Table(&b, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"responses (people who wrote after their message)\n", "  replied    2", "  opted out  1"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report for people: got\n%s\nwant %q in it", b.String(), want)
		}
	}
	if got, want := ResponsesSentence(r.Responses), "2 people replied to it, and 1 person opted out after it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, none := range map[string]*campaign.Responses{"not known": nil, "nobody": {}} {
		if got := ResponsesSentence(none); got != "" {
			t.Errorf("%s: got %q, want nothing", name, got)
		}
	}
}
