package console

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// personPages returns all pages of a number: on a slow machine a page ends before its rows do.
func (w *world) personPages(t *testing.T, name, to string) (text string) {
	t.Helper()
	next := regexp.MustCompile(`href="(/console/person\?after=[^"]*)"`)
	for path := "/console/person?" + (url.Values{"to": {to}}).Encode(); path != ""; {
		got := w.request(path, name, nil)
		if got.Code != http.StatusOK {
			t.Fatalf("%s as %s: got %d %s, want the page", path, name, got.Code, got.Body)
		}
		text, path = text+got.Body.String(), ""
		if more := next.FindStringSubmatch(got.Body.String()); more != nil {
			path = html.UnescapeString(more[1])
		}
	}
	return text
}

// A number in two spellings, and one that no run has.
func TestAPersonHasEachRunsStory(t *testing.T) {
	w := newWorld(t)
	find := func(name, to string) string { return w.personPages(t, name, to) }
	text := find("admin", "+234 803 123 4560")
	for _, want := range []string{"/console/runs/spring-1\"", "/console/runs/spring-2\"", "Suppressions", "Erase this number"} {
		if !strings.Contains(text, want) {
			t.Errorf("got a page without %q: %s", want, text)
		}
	}
	text = find("other", "+2348031234560")
	if strings.Contains(text, "/console/runs/spring-1\"") || !strings.Contains(text, "/console/runs/spring-2\"") ||
		strings.Contains(text, "Erase this number") {
		t.Errorf("for a key of one company: got %s, want its own run alone, and nothing to erase", text)
	}
	if text = find("admin", "+2348039999999"); strings.Contains(text, "/console/runs/spring") ||
		!strings.Contains(text, "is not on the suppression list") {
		t.Errorf("an unknown number: got %s, want that nothing is known", text)
	}
	if got := w.request("/console/person?to=0803", "admin", nil); got.Code != http.StatusBadRequest {
		t.Errorf("a number without its country: got %d, want 400", got.Code)
	}
}

// The file has what the key may see, and its name has no number.
func TestAPersonIsDownloaded(t *testing.T) {
	w := newWorld(t)
	const address = "/console/person/export?to=%2b2348031234560"
	if text := w.personPages(t, "read", "+2348031234560"); !strings.Contains(text, `href="`+address+`"`) {
		t.Errorf("the page: got %s, want a link to %s", text, address)
	}
	for name, runs := range map[string]string{"read": "spring-2 spring-1", "other": "spring-2"} {
		got := w.request(address, name, nil)
		var all resource.PersonExport
		if err := json.Unmarshal(got.Body.Bytes(), &all); err != nil || got.Code != http.StatusOK || all.To != "+2348031234560" {
			t.Fatalf("as %s: got %d %s (%v), want the document", name, got.Code, got.Body, err)
		}
		var found []string
		for _, m := range all.Messages {
			if !slices.Contains(found, m.Run) {
				found = append(found, m.Run)
			}
		}
		if strings.Join(found, " ") != runs || got.Header().Get("Content-Disposition") != `attachment; filename="person.json"` {
			t.Errorf("as %s: got the runs %q and %q, want %s in person.json", name, found, got.Header().Get("Content-Disposition"), runs)
		}
	}
	if got := w.request("/console/person/export?to=0803", "admin", nil); got.Code != http.StatusBadRequest {
		t.Errorf("a number without its country: got %d, want 400", got.Code)
	}
}

func TestAStorySaysWhatBecameOfARow(t *testing.T) {
	for _, c := range []struct {
		row  resource.Delivery
		want string
	}{
		{resource.Delivery{Status: campaign.Skipped, Reason: string(campaign.InvalidPhone)}, campaign.InvalidPhone.Sentence()},
		{resource.Delivery{Status: campaign.Skipped, Reason: "of_a_new_version"}, "of a new version"},
		{resource.Delivery{Status: campaign.Failed}, "no code came with it"},
		{resource.Delivery{Status: campaign.Unknown, Reason: "no_answer"}, "it may have been sent: no answer"},
		{resource.Delivery{Status: campaign.Read}, ""},
	} {
		if got := messageOf(resource.PersonMessage{Delivery: c.row}).Why; got != c.want {
			t.Errorf("%+v: got %q, want %q", c.row, got, c.want)
		}
	}
}

// The number has to be typed again; another one erases nobody.
func TestAPersonIsErasedWhenTypedAgain(t *testing.T) {
	w := newWorld(t)
	const to = "+2348031234560"
	rows := func() int { return strings.Count(w.personPages(t, "read", to), `class="small" href="/console/runs/`) }
	for _, typed := range []string{"", "1", "+2348031234561"} {
		got := w.request("/console/person/erase", "admin", url.Values{"to": {to}, sure: {typed}})
		if text := html.UnescapeString(got.Body.String()); got.Code != http.StatusOK || !strings.Contains(text, "Type "+to+" to confirm") {
			t.Errorf("with %q: got %d %s, want the question", typed, got.Code, text)
		}
	}
	if n := rows(); n != 2 {
		t.Fatalf("after the questions: got %d rows, want 2", n)
	}
	got := w.request("/console/person/erase", "admin", url.Values{"to": {to}, sure: {to}})
	if got.Code != http.StatusSeeOther || rows() != 0 {
		t.Errorf("got %d %s and %d rows, want none", got.Code, got.Body, rows())
	}
	if got := w.request("/console/person/erase", "admin", url.Values{sure: {"1"}}); got.Code != http.StatusBadRequest {
		t.Errorf("without a number: got %d, want 400", got.Code)
	}
}
