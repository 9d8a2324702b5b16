package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaignd/reporting"
)

// The list of the world begins with its second row, which an audit finds.
func TestARunIsAuditedOnItsPage(t *testing.T) {
	w := newWorld(t)
	if text := w.request("/console/runs/spring-1", "read", nil).Body.String(); !strings.Contains(text, "Audit the run") {
		t.Errorf("got %s, want a button", text)
	}
	if text := w.request("/console/runs/spring-1/audit", "read", nil).Body.String(); !strings.Contains(text, "has not audited the run") {
		t.Errorf("got %s, want that there is none", text)
	}
	got := w.request("/console/runs/latest/audit", "read", url.Values{})
	if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || !strings.HasSuffix(to, "/audit") {
		t.Fatalf("got %d to %s, want the page of the audit", got.Code, to)
	}
	to := got.Header().Get("Location")
	got = w.request(to, "read", nil)
	for _, want := range []string{"1 problem was found.", "This row has no delivery.", "<dt>Rows that were read</dt><dd>40</dd>",
		"<dt>skipped</dt><dd>1</dd>", "UTC", "in 0 s", "Audit again"} {
		if text := got.Body.String(); !strings.Contains(text, want) || got.Header().Get("Refresh") != "" {
			t.Errorf("got %s, want %s and no reload", text, want)
		}
	}
	if text := w.request(strings.TrimSuffix(to, "/audit"), "read", nil).Body.String(); !strings.Contains(text, "The last one, ") {
		t.Errorf("got %s, want the result on the page of the run", text)
	}
}

// An audit of millions of rows goes on while its page is loaded again, and is made once.
func TestALongAuditShowsThatItRuns(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	w.audits.runs["spring-1"] = audit{Began: now.Add(-90 * time.Second)}
	got := w.request("/console/runs/spring-1/audit", "read", nil)
	if text := got.Body.String(); got.Header().Get("Refresh") != "2" || !strings.Contains(text, "is being read") ||
		strings.Contains(text, "<button class=\"button\">Audit") {
		t.Errorf("got %s with the refresh %q, want that it runs, and no second one", text, got.Header().Get("Refresh"))
	}
	w.request("/console/runs/spring-1/audit", "read", url.Values{})
	if one := w.audits.of("spring-1"); !one.Ended.IsZero() {
		t.Errorf("got %+v, want the first audit to go on", one)
	}
	w.audits.runs["other-1"] = audit{Began: now}
	if got := w.request("/console/runs/spring-2/audit", "read", url.Values{}); got.Code != http.StatusServiceUnavailable {
		t.Errorf("a third run: got %d, want 503", got.Code)
	}
	w.audits.end("spring-1", &reporting.AuditResult{Found: 2, Problems: []reporting.Problem{{Row: 1 << 33, What: hostile}}}, "")
	text := w.request("/console/runs/spring-1/audit", "read", nil).Body.String()
	if !strings.Contains(text, "2 problems were found.") || !strings.Contains(text, "8\u202f589\u202f934\u202f592") || unsafe(text) != "" {
		t.Errorf("got %s, want the problems", text)
	}
}

func TestAnAuditIsASentence(t *testing.T) {
	for want, a := range map[string]audit{
		"Each row of the list has exactly one status, and the totals agree.": {
			Result: &reporting.AuditResult{Balanced: true, Rows: 2, Counted: 2}},
		"The list has no row, and the totals are 0.": {Result: &reporting.AuditResult{Balanced: true}},
		"The totals add up to the rows of the list. Retention has deleted rows, so that these cannot be read any more.": {
			Result: &reporting.AuditResult{Balanced: true, Rows: 2, Counted: 1}},
		"The list is being imported. The rows so far have one outcome each.": {Result: &reporting.AuditResult{Balanced: true, Importing: true}},
		"It failed.": {Fault: "It failed."},
	} {
		if got := a.Sentence(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
