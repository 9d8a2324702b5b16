package api

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/operator"
)

// looks are the operations that change nothing and give out no list of people. A new operation is
// one of these, of operator.Exports, or not a GET: then it has a line in the log of actions.
var looks = []string{"actions", "audit", "campaign", "campaigns", "check", "drop", "drops", "events", "forecast", "forecast-campaign",
	"history", "holds", "keys", "limits", "media", "notification", "notifications", "number", "numbers", "report", "report-html", "run",
	"runs", "schedules", "series", "suppression", "templates", "upload", "upload-head", "why", "why-number", "why-recipient",
	"check-upload", "forecast-upload", "preview", "begin-upload", "upload-part"}

// Each operation that changes something or exports people's data writes a line with the address of
// its caller and its result. One that was refused does not look done.
func TestEachChangeAndExportHasALineInTheLog(t *testing.T) {
	w := newWorld(t)
	var document struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		}
	}
	if err := json.Unmarshal(w.ask(t, http.MethodGet, "/api/v1/openapi.json", "admin", "").Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\{[a-z]+\}`)
	seen := 0
	for path, methods := range document.Paths {
		for method, op := range methods {
			seen++
			method = strings.ToUpper(method)
			exports := slices.Contains(operator.Exports, op.ID)
			if slices.Contains(looks, op.ID) {
				if exports {
					t.Errorf("%s: got an export that only looks, want one of both", op.ID)
				}
				continue
			}
			if method == http.MethodGet && !exports {
				t.Errorf("%s: got a GET of no list, want it among the exports or the looks", op.ID)
			}
			before := w.lines(t)
			status := w.ask(t, method, variable.ReplaceAllString(path, "none-9"), "admin", "{").Code
			lines := slices.DeleteFunc(w.lines(t), func(a campaign.Action) bool { // of one millisecond, the newest may not be first
				return slices.ContainsFunc(before, func(b campaign.Action) bool { return a.ID == b.ID })
			})
			if len(lines) != 1 {
				t.Errorf("%s: got %d lines more of a request that was answered %d, want 1", op.ID, len(lines), status)
				continue
			}
			refused := strings.Contains(lines[0].Detail, "not done: ")
			if !strings.Contains(lines[0].Detail, "from 192.0.2.") || refused != (status >= 400) ||
				!refused && !strings.HasSuffix(lines[0].Detail, operator.Done) {
				t.Errorf("%s: got the line %+v of a request that was answered %d, want its address and result", op.ID, lines[0], status)
			}
		}
	}
	if seen < 50 {
		t.Errorf("got %d operations, want at least 50", seen)
	}
}

// lines are the lines of the log of actions, the newest first.
func (w *world) lines(t *testing.T) []campaign.Action {
	t.Helper()
	all, err := w.session.Ledger.Actions(t.Context(), campaign.ActionFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A change that was done says so in the line that was written before it.
func TestAChangeAndItsResultAreOneLine(t *testing.T) {
	w := newWorld(t)
	for _, want := range []string{"; done", "not done: 409 Conflict"} { // the second pause changes nothing, or is refused
		before := len(w.lines(t))
		status := w.ask(t, http.MethodPost, "/api/v1/runs/spring-1/pause", "operate", "").Code
		if status == http.StatusOK {
			want = "done"
		}
		lines := w.lines(t)
		if len(lines) != before+1 || lines[0].What != "pause" || lines[0].On != "spring-1" || !strings.HasSuffix(lines[0].Detail, want) {
			t.Errorf("a pause that was answered %d: got %+v, want one line that ends with %q", status, lines[:len(lines)-before], want)
		}
	}
}
