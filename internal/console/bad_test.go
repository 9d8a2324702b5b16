package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
)

// Browsers load the page again by themselves; a form is not sent twice.
func TestALedgerThatIsAwayIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	if err := w.session.Ledger.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range w.routes {
		r := &w.routes[i]
		got := w.request(w.address(r.path), "admin", formOf(r, true))
		refresh := got.Header().Get("Refresh")
		if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" ||
			(refresh != "") != (r.method == http.MethodGet) || !strings.Contains(got.Body.String(), "The ledger does not answer") ||
			(r.method == http.MethodPost) != strings.Contains(got.Body.String(), "may not have been done") {
			t.Errorf("%s %s: got %d, refresh %q, %s; want 503 and a page that loads itself again", r.method, r.path, got.Code, refresh, got.Body)
		}
	}
}

// The second one is told how it is; a cancelled run stays cancelled.
func TestTwoPeopleCancelAndResumeAtOnce(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			action := []string{"cancel", "resume", "pause"}[i%3]
			got := w.request("/console/runs/spring-1/"+action, "operate", url.Values{sure: {"1"}})
			if got.Code != http.StatusSeeOther && got.Code != http.StatusConflict {
				t.Errorf("%s: got %d %s, want the run, or why not", action, got.Code, got.Body)
			}
		})
	}
	all.Wait()
	if r, err := w.session.Run(t.Context(), "spring-1"); err != nil || r.Wanted != campaign.WantCancel {
		t.Errorf("got %+v (%v), want a run that is to be cancelled", r, err)
	}
}

// A page that was open during an upgrade may lack fields, have others, or post to what is gone.
func TestAFormOfAnOldVersionIsASentence(t *testing.T) {
	w := newWorld(t)
	for i := range w.routes {
		r := &w.routes[i]
		if r.method != http.MethodPost {
			continue
		}
		for _, form := range []url.Values{{}, {"gone": {"1"}}, {sure: {"1"}}, {sure: {"1"}, "gone": {"1"}}} {
			got := w.request(w.address(r.path), "admin", form)
			if got.Code >= http.StatusInternalServerError {
				t.Errorf("%s with %v: got %d, want no fault of the server", r.path, form, got.Code)
			}
		}
	}
	got := w.request("/console/runs/spring-1/stop", "admin", url.Values{})
	if got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), "There is no such page.") {
		t.Errorf("an action that is gone: got %d %s, want a page that says so", got.Code, got.Body)
	}
}

// During an upgrade, a process may show a run that a later version launched.
func TestARunOfALaterVersionCanBeCancelled(t *testing.T) {
	w := newWorld(t)
	run, err := w.session.Ledger.CreateRun(t.Context(), campaign.Run{Campaign: "later", ListHash: "later", Wanted: campaign.WantRun,
		Definition: []byte("name: later\nconnections: [conn_1]\ntemplate: {name: a, language: en, later: true}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.session.Ledger.FinishImport(t.Context(), run.No, 0, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	got := w.request("/console/runs/later-3", "operate", nil)
	if text := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(text, "/console/runs/later-3/cancel") ||
		!strings.Contains(text, "This version of campaignd cannot read them.") || strings.Contains(text, "Change limits") {
		t.Errorf("got %d %s, want the page with its action cancel, and without limits", got.Code, text)
	}
	got = w.request("/console/runs/later-3/cancel", "operate", url.Values{sure: {"1"}})
	if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || to != "/console/runs/later-3" {
		t.Errorf("cancel: got %d to %q, want the page of the run", got.Code, to)
	}
}

func TestAnEmptiedRunStillHasItsPages(t *testing.T) {
	for name, empty := range map[string]func(w *world) error{
		"erasure": func(w *world) error {
			for seq := range 39 {
				if _, err := w.session.Erase(t.Context(), fmt.Sprintf("+%d", 2348031234560+seq)); err != nil {
					return err
				}
			}
			return nil
		},
		"retention": func(w *world) error {
			for total := int64(0); ; {
				rows, err := w.session.Ledger.Retire(t.Context(), time.Now().Add(time.Hour))
				if total += rows; err != nil || rows == 0 && total == 40 {
					return err
				}
				if rows == 0 {
					return fmt.Errorf("%d rows were deleted; want 40", total)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cancel(t, "spring-1")
			if err := empty(w); err != nil {
				t.Fatal(err)
			}
			for i := range w.routes {
				r := &w.routes[i]
				if r.method != http.MethodGet {
					continue
				}
				got := w.request(w.address(r.path)+"?to=%2B2348031234560", "admin", nil)
				row := strings.Contains(got.Body.String(), "/spring-1/recipient?to=%2b2348031234560")
				if got.Code >= http.StatusInternalServerError || row {
					t.Errorf("%s: got %d, want a page without the row of the number", r.path, got.Code)
				}
			}
			if got := w.request("/console/runs/spring-1", "admin", nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "39") {
				t.Errorf("got %d %s, want the page with its 39 cancelled rows", got.Code, got.Body)
			}
			if text := w.personPages(t, "admin", "+2348031234560"); strings.Contains(text, "/spring-1/recipient?to=") {
				t.Errorf("the person: got %s, want no row of the run", text)
			}
		})
	}
}
