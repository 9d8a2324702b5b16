package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
	"campaignd/internal/messaging"
)

func TestPreviewAndTestUseTheValuesOfOneRow(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if got := d.want(0, "preview", d.path("c.yaml"), "--row", "3", "-o", "json").stdout; !json.Valid([]byte(got)) {
		t.Errorf("preview -o json = %s, want JSON alone", got)
	}
	wantIn(t, "preview", d.want(0, "preview", d.path("c.yaml"), "--row", "3").stdout,
		"Hello Name 2, your order A-2 is on its way.", `"connectionId": "conn_1"`)
	if n := d.accepted(); n != 0 {
		t.Errorf("preview sent %d messages, want none", n)
	}
	wantIn(t, "test", d.want(0, "test", d.path("c.yaml"), "--to", "+2348039999999").stdout, "accepted by the service for +2348039999999")
	if d.accepted() != 1 {
		t.Errorf("test sent %d messages, want 1", d.accepted())
	}
	d.want(0, "suppressions", "add", "+2348039999999", "--scope", "all")
	d.want(0, "erase", "+2348039999998", "--yes")
	wantIn(t, "test to an erased number", d.want(1, "test", d.path("c.yaml"), "--to", "+2348039999998").stderr, "suppression list")
	refused := d.want(1, "test", d.path("c.yaml"), "--to", "+2348039999999")
	wantIn(t, "test to a suppressed number", refused.stderr, "suppression list")
	wantIn(t, "preview of a missing row", d.want(2, "preview", d.path("c.yaml"), "--row", "999").stderr, "no row 999")
}

func TestAPreviewIsShownAsItWouldBePosted(t *testing.T) {
	message := &messaging.Message{}
	posted, err := json.MarshalIndent(message, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	tail := "\nPOST /api/v1/messages\n" + string(posted) + "\n"
	for _, tt := range []struct {
		sample launch.Sample
		want   string
	}{
		{launch.Sample{Row: 3, Line: 4, To: "+1\x1b", Message: message, Text: "Hello\n\x1bNam", Footer: "Bye\u009b"},
			"row 3 (line 4) to +1\uFFFD\n\nHello\n\uFFFDNam\nBye\uFFFD\n" + tail},
		{launch.Sample{Row: 3, Line: 4, To: "+1", Message: message}, "row 3 (line 4) to +1\n" + tail},
		{launch.Sample{Row: 3, Line: 4, To: "0803", Skip: campaign.InvalidPhone, Note: "no +\x1b", Message: message, Text: "x"},
			"row 3 (line 4) to 0803\nnot sent (invalid_phone): no +\uFFFD\n"},
	} {
		if got := printed(t, func(p *program) error { return p.writeSample(&tt.sample) }); got != tt.want {
			t.Errorf("got\n%s\nwant\n%s", got, tt.want)
		}
	}
}

func TestATestMessageIsNamedByItsIds(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", listOf(2))
	got := d.want(0, "test", d.path("c.yaml"), "--to", "+2348039999999").stdout
	want := regexp.MustCompile(
		`^accepted by the service for \+2348039999999: wamid\.\S+ \(accepted is not delivered: look at the phone\)\n$`)
	if !want.MatchString(got) {
		t.Errorf("test: got %q, want %s", got, want)
	}
	got = d.want(0, "test", d.path("c.yaml"), "--to", "+2348039999999", "-o", "json").stdout
	var facts resource.TestMessage
	if err := json.Unmarshal([]byte(got), &facts); err != nil {
		t.Fatalf("%v, want JSON: %s", err, got)
	}
	if facts.To != "+2348039999999" || !strings.HasPrefix(facts.MessageID, "wamid.") || strings.Count(got, "wamid.") != 1 {
		t.Errorf("test -o json: got %s, want the number as to, and one wamid as message_id", got)
	}
}
