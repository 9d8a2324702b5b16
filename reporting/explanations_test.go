package reporting

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// The report shows what was said of a row for the three most frequent codes, but not what the table
// of codes says anyway.
func TestTheReportShowsWhatWasSaidOfARefusal(t *testing.T) {
	m, run := &memory{}, campaign.Run{No: 3, Campaign: "spring", State: campaign.Finished, Rows: 11}
	add := func(n int, status campaign.Status, code, note string) {
		for range n {
			m.lines = append(m.lines, campaign.Line{Delivery: campaign.Delivery{Note: note}, Status: status, Code: code})
		}
	}
	add(1, campaign.Failed, "132012", "said of a failed row")
	add(4, campaign.Refused, "132012", "header: expected IMAGE")
	add(3, campaign.Refused, "send_media", messaging.Sentence("send_media"))
	add(2, campaign.Refused, "131008", "the parameter to is missing")
	add(1, campaign.Refused, "131051", "said of a rare code")
	r := built(t, run, m)
	if want := map[string]string{"132012": "header: expected IMAGE", "131008": "the parameter to is missing"}; !maps.Equal(r.Explanations,
		want) {
		t.Errorf("got %q, want %q", r.Explanations, want)
	}
	var b bytes.Buffer
	if err := r.Table(&b, 0); err != nil || !strings.Contains(b.String(),
		messaging.Sentence("132012")+", for example: header: expected IMAGE") {
		t.Errorf("got %v and %s, want the example beside its sentence", err, b.String())
	}
}
