package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/operator"
	"campaignd/reporting"
)

// The list of the world begins with its second row, which an audit finds.
func TestARunIsAuditedOnItsPage(t *testing.T) {
	w := newWorld(t)
	if text := w.request("/console/runs/spring-1", "read", nil).Body.String(); !strings.Contains(text, "Audit the run") {
		t.Errorf("got %s, want a button", text)
	}
	if text := w.request("/console/runs/spring-1/audit", "read", nil).Body.String(); !strings.Contains(text, "Nobody has audited the run") {
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

// replica is another console over the ledger of a world.
func (w *world) replica(t *testing.T) *world {
	t.Helper()
	other := *w
	var err error
	if other.Server, err = New(t.Context(), w.process, Options{}); err != nil {
		t.Fatal(err)
	}
	return &other
}

// An audit of millions of rows goes on while its page is loaded again, is made once, and is seen
// from each replica.
func TestALongAuditShowsThatItRuns(t *testing.T) {
	w := newWorld(t)
	l, other := w.session.Ledger, w.replica(t)
	run, err := l.Run(t.Context(), 1)
	if err != nil || run.ID() != "spring-1" {
		t.Fatalf("got %+v (%v), want spring-1", run, err)
	}
	began := time.Now().Add(-90 * time.Second).UTC().Truncate(time.Millisecond)
	lease, ok, err := l.AcquireJob(t.Context(), fmt.Sprint("audit ", run.No), "another process", time.Minute)
	if err != nil || !ok {
		t.Fatalf("got %v (%v), want the lease", ok, err)
	}
	if err := l.KeepAudit(t.Context(), run.No, campaign.KeptAudit{Began: began}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*world{w, other} {
		r.request("/console/runs/spring-1/audit", "read", url.Values{}) // begins no second one
		got := r.request("/console/runs/spring-1/audit", "read", nil)
		if text := got.Body.String(); got.Header().Get("Refresh") != "2" || !strings.Contains(text, "is being read") ||
			strings.Contains(text, "<button class=\"button\">Audit") || !strings.Contains(text, "It has lasted 1") {
			t.Errorf("got %s with the refresh %q, want that it runs, and no second one", text, got.Header().Get("Refresh"))
		}
	}
	text, err := json.Marshal(reporting.AuditResult{Found: 2, Problems: []reporting.Problem{{Row: 1 << 33, What: hostile}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.KeepAudit(t.Context(), run.No, campaign.KeptAudit{Began: began, Ended: time.Now(), Result: string(text)}); err != nil {
		t.Fatal(err)
	}
	page := other.request("/console/runs/spring-1/audit", "read", nil).Body.String()
	if !strings.Contains(page, "2 problems were found.") || !strings.Contains(page, "8\u202f589\u202f934\u202f592") || unsafe(page) != "" {
		t.Errorf("got %s, want the problems", page)
	}
	// The process of an audit ended before the audit.
	if err := l.KeepAudit(t.Context(), run.No, campaign.KeptAudit{Began: began}); err != nil {
		t.Fatal(err)
	}
	if err := l.ReleaseJob(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	got := w.request("/console/runs/spring-1/audit", "read", nil)
	if page := got.Body.String(); got.Header().Get("Refresh") != "" || !strings.Contains(page, "did not come to its end") ||
		!strings.Contains(page, "Audit again") {
		t.Errorf("got %s, want that it has ended, and a button", page)
	}
}

func TestAProcessAuditsTwoRunsAtATime(t *testing.T) {
	w := newWorld(t)
	for range auditsAtOnce {
		w.audits <- struct{}{}
	}
	if got := w.request("/console/runs/spring-2/audit", "read", url.Values{}); got.Code != http.StatusServiceUnavailable {
		t.Errorf("a third run: got %d, want 503", got.Code)
	}
	if got := w.replica(t).request("/console/runs/spring-2/audit", "read", url.Values{}); got.Code != http.StatusSeeOther {
		t.Errorf("at another replica: got %d %s, want the page of the audit", got.Code, got.Body)
	}
	if text := w.request("/console/runs/spring-2/audit", "read", nil).Body.String(); !strings.Contains(text, "Rows that were read") {
		t.Errorf("got %s, want what the other replica found", text)
	}
}

func TestAnAuditIsASentence(t *testing.T) {
	now := time.Now()
	for want, a := range map[string]operator.Audit{
		"Each row of the list has exactly one status, and the totals agree.": {
			Result: &reporting.AuditResult{Balanced: true, Rows: 2, Counted: 2}},
		"The list has no row, and the totals are 0.": {Result: &reporting.AuditResult{Balanced: true}},
		"The totals add up to the rows of the list. Retention has deleted rows, so that these cannot be read any more.": {
			Result: &reporting.AuditResult{Balanced: true, Rows: 2, Counted: 1}},
		"The list is being imported. The rows so far have one outcome each.": {Result: &reporting.AuditResult{Balanced: true, Importing: true}},
		"Each row of the list is being read.":                                {Began: now},
		"The audit did not come to its end: the ledger did not answer, or the process ended. " +
			"That does not say that the totals are wrong. Try again.": {Began: now, Ended: now},
	} {
		if got := (&audit{a}).Sentence(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
