package console

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
)

// unreached has the operations of the API that no page reaches, with the reason.
var unreached = map[string]string{
	"check":               "a new campaign is checked with the list that it is sent to",
	"doubts":              "the deliveries of the statuses in_doubt and unknown are the same rows",
	"drop":                "the list of dropped files has all that it tells",
	"events":              "a run's page has a stream of its own figures, which are rendered for all who watch",
	"forecast":            "the sentence of why has when the last row is sent",
	"forecast-campaign":   "as check",
	"import-suppressions": "its faults are listed by row: `campaignd suppressions import`",
	"media":               "the files of a template are named in the campaign file",
	"sync-templates":      "templates are files that are reviewed like code: `campaignd templates sync`",
}

// operation is what the API's document says of an operation.
type operation struct {
	scope campaign.KeyScope
	all   bool // a key of one company is refused
}

func operations(t *testing.T, document []byte) map[string]operation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			ID          string            `json:"operationId"`
			Scope       campaign.KeyScope `json:"x-scope"`
			Description string
		}
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]operation{}
	for _, methods := range doc.Paths {
		for _, o := range methods {
			out[o.ID] = operation{o.Scope, strings.Contains(o.Description, "a key of one company is refused")}
		}
	}
	return out
}

func TestEachRouteNeedsWhatTheAPINeeds(t *testing.T) {
	w := newWorld(t)
	known := operations(t, w.document)
	reached := map[string]bool{}
	for i := range w.routes {
		r := &w.routes[i]
		want := operation{scope: campaign.KeyRead}
		for _, id := range r.operations {
			o, ok := known[id]
			if !ok {
				t.Errorf("%s %s: the API has no operation %s", r.method, r.path, id)
			}
			reached[id] = true
			if o.scope.Allows(want.scope) {
				want.scope = o.scope
			}
			want.all = want.all || o.all
		}
		if r.path == "/console/suppressions/remove" || r.path == "/console/suppressions/export" {
			want.all = true // the operator's session refuses a key of one company
		}
		if got := (operation{r.scope, r.all}); got != want || len(r.operations) == 0 {
			t.Errorf("%s %s: got %+v, want %+v as its operations %v", r.method, r.path, got, want, r.operations)
		}
	}
	for id := range known {
		if (unreached[id] == "") == !reached[id] {
			t.Errorf("%s: reached by a page: %v; the reason why it is not: %q; want one of the two", id, reached[id], unreached[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(unreached)) {
		if _, ok := known[id]; !ok {
			t.Errorf("%s: the API has no such operation", id)
		}
	}
}

// Each answer has the headers, whatever it is.
func TestEachRouteRefusesWhoMayNotUseIt(t *testing.T) {
	w := newWorld(t)
	less := map[campaign.KeyScope]string{campaign.KeyOperate: "read", campaign.KeyAdmin: "operate"}
	for i := range w.routes {
		r := &w.routes[i]
		at, form := w.address(r.path), formOf(r, true)
		none, foreign := http.StatusSeeOther, http.StatusSeeOther // to the page on which one signs in
		if form != nil {
			none, foreign = http.StatusUnauthorized, http.StatusForbidden
		}
		check := func(what string, name string, want int, headers ...string) {
			t.Helper()
			got := w.request(at, name, form, headers...)
			if got.Code != want || want == http.StatusSeeOther && !strings.HasPrefix(got.Header().Get("Location"), "/console/sign-in?to=") {
				t.Errorf("%s %s %s: got %d %s, want %d", r.method, at, what, got.Code, got.Header().Get("Location"), want)
			}
			if got.Header().Get("Content-Security-Policy") != policy || got.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s %s: got the headers %v, want the policy and no-store", r.method, at, what, got.Header())
			}
		}
		check("without a session", "", none)
		check("with a session that is not there", "nobody", none)
		for _, h := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"}} {
			check(h[0]+" "+h[1], "admin", foreign, h...)
		}
		if name := less[r.scope]; name != "" {
			check("with the scope "+name, name, http.StatusForbidden)
		}
		if r.all && r.scope != campaign.KeyAdmin {
			check("with a key of one company", "other", http.StatusForbidden)
		}
		if strings.Contains(r.path, "{run}") || strings.Contains(r.path, "{connection}") {
			check("of another company", "other", http.StatusNotFound)
		}
	}
}

func TestListsShowOneCompanyOnlyItsOwn(t *testing.T) {
	w := newWorld(t)
	if got := w.request("/console/numbers/conn_2", "other", nil); got.Code != 200 || !strings.Contains(got.Body.String(), "conn_2") {
		t.Errorf("a number that is only listed: got %d, want its page", got.Code)
	}
	for path, want := range map[string][2]string{
		"/console/runs":     {"spring-2", "spring-1"},
		"/console/overview": {"spring-2", "spring-1"},
		"/console/numbers":  {"conn_2", "conn_1"},
		"/console/holds":    {"comp_2", "conn_1"},
		"/console/drops":    {"spring-2", "spring-1"},
	} {
		got := w.request(path, "other", nil)
		if text := got.Body.String(); got.Code != 200 || !strings.Contains(text, want[0]) || strings.Contains(text, want[1]) {
			t.Errorf("%s: got %d and %v of %s, %v of %s; want its own alone", path, got.Code, strings.Contains(text, want[0]), want[0],
				strings.Contains(text, want[1]), want[1])
		}
	}
	text := w.request("/console/overview", "admin", nil).Body.String()
	if !strings.Contains(text, `<span class="count">2<`) || !strings.Contains(text, `<span class="count warn">2<`) {
		t.Error("the navigation: want the unfinished runs and the holds of all companies counted")
	}
	text = w.request("/console/overview", "other", nil).Body.String()
	if !strings.Contains(text, `<span class="count">1<`) || !strings.Contains(text, `<span class="count warn">1<`) {
		t.Error("the navigation of one company: want its own run and hold counted")
	}
	if strings.Contains(text, "/console/keys") {
		t.Error("the navigation has a page that the visitor may not see")
	}
}

// Browsers give the forms of a page with the policy no-referrer the origin null.
func TestAFormOfThePageItselfIsTaken(t *testing.T) {
	w := newWorld(t)
	got := w.request("/console/runs/spring-1/pause", "operate", url.Values{}, "Origin", "null", "Sec-Fetch-Site", "same-origin")
	if got.Code != http.StatusSeeOther {
		t.Errorf("got %d, want the page of the run", got.Code)
	}
}

// A hold is lifted by somebody who knows what is sent then.
func TestALiftSaysWhatWillBeSent(t *testing.T) {
	w := newWorld(t)
	for id, want := range map[string]string{"conn_1": "It stops 1 run with 39 queued rows: spring-1.", "conn_9": "It stops no run now."} {
		got := w.request("/console/holds/lift", "operate", url.Values{"scope": {"connection"}, "id": {id}})
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: got %d %s, want %s", id, got.Code, got.Body, want)
		}
	}
}

// Nothing that cannot be undone is done by one click, and a GET does nothing.
func TestWhatCannotBeUndoneIsAskedFirst(t *testing.T) {
	w := newWorld(t)
	got := w.request("/console/runs/spring-1/cancel", "operate", url.Values{})
	if !strings.Contains(got.Body.String(), `name="sure"`) || got.Code != 200 {
		t.Errorf("cancel: got %d %s, want a question", got.Code, got.Body)
	}
	if r, err := w.session.Run(t.Context(), "spring-1"); err != nil || r.State == campaign.Cancelled || r.Wanted == campaign.WantCancel {
		t.Errorf("after the question: got %+v (%v), want a run that goes on", r, err)
	}
	got = w.request("/console/runs/spring-1/cancel", "operate", url.Values{"sure": {"1"}})
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/console/runs/spring-1" {
		t.Errorf("cancel: got %d to %s, want the page of the run", got.Code, got.Header().Get("Location"))
	}
	if r, err := w.session.Run(t.Context(), "spring-1"); err != nil || r.Wanted != campaign.WantCancel && r.State != campaign.Cancelled {
		t.Errorf("after the answer: got %+v (%v), want a cancelled run", r, err)
	}
	log, err := w.session.Actions(t.Context(), campaign.ActionFilter{Limit: 1})
	if err != nil || log[0].What != "cancel" || !strings.Contains(log[0].By, "(operate)") {
		t.Errorf("got the action %+v (%v), want a cancel by the key", log, err)
	}
}
