package console

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
)

// A page has buttons, so its sentences name no command.
func TestSentencesNameNoCommand(t *testing.T) {
	for text, want := range map[string]string{
		"connection conn_3 is held (the SIM is changed); only an operator ends it: `campaignd holds lift connection conn_3`"://
		"Connection conn_3 is held (the SIM is changed).",
		"company comp_2 is held; only an operator ends it: `campaignd holds lift company comp_2`, and nobody is there to send it then"://
		"Company comp_2 is held, and nobody is there to send it then.",
		"it waits for approval: `campaignd approve spring-1`":    "It waits for approval.",
		"conn_1 is held; `campaignd holds lift conn_1` lifts it": "conn_1 is held.",
		"the list has a `quoted` word":                              "The list has a `quoted` word.",
		"the name `campaignd check` of a column is not one of ours": "The name `campaignd check` of a column is not one of ours.",
	} {
		if got := sentence(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := forPage(errors.New("another key approves it, or `campaignd approve spring-1` on the machine of the ledger")); got !=
		"Another key approves it." {
		t.Errorf("got %q, want it without the command", got)
	}
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 1000: "1\u202f000 rows"} {
		if got := several(n, "row", "rows"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for state, want := range map[string]string{
		string(campaign.WaitingApproval): "waiting for approval", string(campaign.ByNone): "not limited",
		string(campaign.InDoubt): "in doubt"} {
		if got := stateOf(state).Word; got != want {
			t.Errorf("%s: got %q, want %q", state, got, want)
		}
	}
}

// The table of faulty rows has the line and the column of each fault.
func TestAFaultyRowDoesNotRepeatItsPlace(t *testing.T) {
	d, err := file.Parse("winter.yaml", []byte(winter))
	if err != nil {
		t.Fatal(err)
	}
	for note, want := range map[string]string{
		`line 42, column "phone": "+234" is too short`:        `"+234" is too short`,
		`line 42, column "a \"b\": c": "x" is no number`:      `"x" is no number`,
		`line 43: column "name" has no value`:                 `column "name" has no value`,
		`the same number stands in line 7: the first is sent`: `the same number stands in line 7: the first is sent`,
	} {
		rows := faultyRows(&launch.Preflight{Header: []string{"phone", "name"}, Examples: []campaign.Reject{
			{Line: 42, Reason: campaign.InvalidPhone, Note: note, Cells: []string{"+234", ""}}}}, d)
		if len(rows) != 1 || rows[0].Note != want {
			t.Errorf("got %+v, want the note %q", rows, want)
		}
	}
}

func TestBarsOfATableHaveOneScale(t *testing.T) {
	for i, r := range scaled([]reason{{N: 40, Length: "100.0"}, {N: 10, Length: "100.0"}, {N: 0}}) {
		if want := []string{"100.0", "25.0", "0.5"}[i]; r.Length != want {
			t.Errorf("%d rows: got a bar of %s %%, want %s", r.N, r.Length, want)
		}
	}
}

// A person whose form was refused goes back to the page with the form.
func TestARefusedFormLeadsBack(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]string{
		"/console/new":                  "/console/new",
		"/console/holds/add":            "/console/holds",
		"/console/runs/spring-1/limits": "/console/runs/spring-1",
		w.step("test"):                  w.step("check"),
		w.step("part") + "?offset=x":    w.step("list"),
		w.step("list"):                  w.step("list"),
	} {
		got := w.request(path, "admin", url.Values{"template": {"x"}, "connection": {"conn_1"}, "weight": {"x"}, "row": {"x"}})
		link := `<a class="button primary" href="` + want + `">Go back`
		if text := got.Body.String(); got.Code < http.StatusBadRequest || !strings.Contains(text, link) {
			t.Errorf("%s: got %d %s, want a link back to %s", path, got.Code, text, want)
		}
		if page := w.request(want, "admin", nil); page.Code != http.StatusOK {
			t.Errorf("%s: got %d, want a page", want, page.Code)
		}
	}
	if err := w.process.Uploads.Remove(w.draft); err != nil {
		t.Fatal(err)
	}
	text := w.request(w.step("check"), "admin", nil).Body.String()
	if !strings.Contains(text, `href="`+w.step("list")+`">Go back`) {
		t.Errorf("a step whose list is gone: got %s, want a link to the page that takes one", text)
	}
	if got := backFrom(httptest.NewRequest(http.MethodGet, "/console/runs/spring-1", nil)); got != "" {
		t.Errorf("a page that is no form: got %q, want no link", got)
	}
}
