package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
)

func TestEachRouteAnswersAsItsDocumentSays(t *testing.T) {
	w := newWorld(t)
	all := w.documented()
	if len(all) < 49 {
		t.Fatalf("got %d operations, want 49 or more", len(all))
	}
	for _, d := range all {
		name := d.method + " " + d.path
		scope, _ := d.op.Extensions["x-scope"].(string)
		if !slices.Contains(campaign.KeyScopes, campaign.KeyScope(scope)) {
			t.Errorf("%s: got the scope %q, want read, operate or admin", name, scope)
			continue
		}
		path, body, example := d.filled("spring-1"), d.body(t), false
		for _, r := range d.op.Responses {
			for _, c := range r.Content {
				example = example || c.Example != nil
			}
		}
		if !example || d.op.RequestBody != nil && d.path != "/api/v1/runs" && body == "null" {
			t.Errorf("%s: got no example, want one of its answer and of its request", name)
		}
		documentsStatus := func(status int) {
			if d.op.Responses[fmt.Sprint(status)] == nil {
				t.Errorf("%s: the document has no answer %d, want it", name, status)
			}
		}
		wantError(t, name+" without a key", w.ask(t, d.method, path, "", body), 401, client.CodeUnauthorized)
		documentsStatus(401)
		wantError(t, name+" with a wrong method", w.ask(t, "PUT", path, "admin", body), 405, client.CodeMethod)
		if less := slices.Index(campaign.KeyScopes, campaign.KeyScope(scope)) - 1; less >= 0 {
			wantError(t, name+" without its scope", w.ask(t, d.method, path, string(campaign.KeyScopes[less]), body), 403, client.CodeForbidden)
			documentsStatus(403)
		}
		if strings.Contains(d.path, "{connection}") {
			wantError(t, name+" of another company", w.ask(t, d.method, path, "other", body), 404, client.CodeNotFound)
			wantError(t, name+" of none", w.ask(t, d.method, strings.Replace(path, "conn_1", "conn_9", 1), "admin", body), 404, client.CodeNotFound)
			documentsStatus(404)
		}
		if strings.Contains(d.path, "{notification}") {
			wantError(t, name+" of a key of one company", w.ask(t, d.method, path, "other", body), 403, client.CodeForbidden)
			wantError(t, name+" of none", w.ask(t, d.method, strings.Replace(path, "/1", "/9", 1), "admin", body), 404, client.CodeNotFound)
			documentsStatus(404)
		}
		for _, of := range []string{"{run}", "{campaign}", "{file}"} {
			if !strings.Contains(d.path, of) {
				continue
			}
			absent := strings.NewReplacer("spring-1", "spring-9", "drops/1", "drops/9").Replace(path)
			wantError(t, name+" of another company", w.ask(t, d.method, path, "other", body), 404, client.CodeNotFound)
			wantError(t, name+" of none", w.ask(t, d.method, absent, "admin", body), 404, client.CodeNotFound)
			documentsStatus(404)
		}
		if strings.Contains(d.path, "{run}") {
			wantError(t, name+" of no id", w.ask(t, d.method, d.filled("x"), "admin", body), 400, client.CodeInvalid)
			documentsStatus(400)
		}
		if strings.HasPrefix(body, "{") {
			for what, text := range map[string]string{"cut": body[:len(body)-1], "a list": "[]", "an unknown member": `{"no such": 1}`,
				"of the wrong type": strings.NewReplacer(`"`, "", "{", `{"scope": `).Replace(body)} {
				wantError(t, name+" with a body that is "+what, w.ask(t, d.method, path, "admin", text), 400, client.CodeInvalid)
			}
			large := `{"x": "` + strings.Repeat("x", maxBody) + `"}`
			wantError(t, name+" that is too large", w.ask(t, d.method, path, "admin", large), 413, client.CodeTooLarge)
			documentsStatus(413)
		} else if body != "" {
			for what, text := range map[string]string{"empty": "", "without a column of numbers": "name\nann\n", "cut": "to\n\"+234"} {
				wantError(t, name+" with a body that is "+what, w.ask(t, d.method, path, "admin", text), 422, launch.RefusedList)
			}
			wantError(t, name+" that is too large", w.large(t, d, path), 413, client.CodeTooLarge)
			documentsStatus(422)
			documentsStatus(413)
		}
		more := "?"
		if strings.Contains(path, "?") {
			more = "&"
		}
		wantError(t, name+" with a parameter that it does not have", w.ask(t, d.method, path+more+"statsu=failed", "admin", body), 400,
			client.CodeInvalid)
	}
}

// Each route answers its example with a documented status, in the order of the document.
func TestEachRouteTakesItsExample(t *testing.T) {
	w := newWorld(t)
	w.process.Session.Service = &fakeService{connections: []string{"conn_1"}}
	for hash, text := range map[string]string{exampleUpload.Hash: "", listWithRows: "phone\n+2348031234567\n"} {
		if _, err := w.process.Uploads.Add(hash, 0, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range w.documented() {
		// TestAnUploadArrivesAndLeavesNothing launches, TestAnUploadIsTried uploads, and
		// TestActionsOfOthersComeAsEvents reads a stream.
		if d.op.OperationID == "events" || d.op.RequestBody != nil && d.op.RequestBody.Content["multipart/form-data"] != nil {
			continue
		}
		path := d.filled("spring-1")
		if d.op.OperationID == "cancel" { // of the other run, so that this one can be paused
			path = d.filled("spring-2")
		}
		if strings.Contains(d.path, "{key}") {
			keys, err := w.session.Keys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(keys, func(k resource.Key) bool { return k.Name != "admin" }) // not the key that asks
			path = strings.ReplaceAll(d.path, "{key}", keys[i].ID)
		}
		got := w.ask(t, d.method, path, "admin", d.body(t))
		if got.Code != 200 && !((d.op.OperationID == "approve" || d.op.OperationID == "follow-up") && got.Code == 409) {
			t.Errorf("%s %s: got %d %s, want 200", d.method, path, got.Code, got.Body)
		}
		tag := got.Header().Get("ETag")
		if json := strings.HasPrefix(got.Header().Get("Content-Type"), "application/json"); d.method == "GET" && (tag != "") != json {
			t.Errorf("GET %s: got the ETag %q, want one if it is JSON", path, tag)
		}
	}
}

func TestAnUnchangedAnswerIsNotSentAgain(t *testing.T) {
	w := newWorld(t)
	ask := func(tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/runs/spring-1", nil)
		r.Header.Set("Authorization", "Bearer "+w.keys["read"])
		r.Header.Set("If-None-Match", tag)
		out := httptest.NewRecorder()
		w.ServeHTTP(out, r)
		return out
	}
	first := ask("")
	tag := first.Header().Get("ETag")
	if again := ask(tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 || again.Header().Get("ETag") != tag {
		t.Errorf("the same tag: got %d with %d bytes, want 304 with none and the tag", again.Code, again.Body.Len())
	}
	if got := w.ask(t, http.MethodPost, "/api/v1/runs/spring-1/pause", "operate", ""); got.Code != 200 {
		t.Fatalf("pause: got %d %s, want 200", got.Code, got.Body)
	}
	if changed := ask(tag); changed.Code != 200 || changed.Header().Get("ETag") == tag {
		t.Errorf("after a pause: got %d, want 200 with another tag", changed.Code)
	}
	actions, err := w.session.Actions(t.Context(), campaign.ActionFilter{Limit: 1})
	if err != nil || len(actions) != 1 || actions[0].What != "pause" || actions[0].On != "spring-1" ||
		!strings.HasSuffix(actions[0].By, "(operate)") {
		t.Errorf("got the actions %+v (%v), want pause of spring-1 by the key operate", actions, err)
	}
}

func TestPagesOfDeliveriesHaveEachRowOnce(t *testing.T) {
	w := newWorld(t)
	for _, filter := range []string{"", "&status=queued", "&status=failed", "&to=%2B2348031234570"} {
		want := map[string]int{"": 40, "&status=queued": 40, "&to=%2B2348031234570": 1}[filter]
		seen, after := map[int64]bool{}, ""
		for {
			var page struct {
				Data []resource.Delivery
				Meta struct{ Next string }
			}
			got := w.ask(t, http.MethodGet, "/api/v1/runs/1/deliveries?limit=7"+filter+after, "read", "")
			if err := json.Unmarshal(got.Body.Bytes(), &page); err != nil || got.Code != 200 || len(page.Data) > 7 {
				t.Fatalf("%q: got %d %s, want a page of at most 7", filter, got.Code, got.Body)
			}
			for _, d := range page.Data {
				if seen[d.Row] {
					t.Errorf("%q: row %d came twice, want once", filter, d.Row)
				}
				seen[d.Row] = true
			}
			if page.Meta.Next == "" {
				break
			}
			after = "&after=" + page.Meta.Next
		}
		if len(seen) != want {
			t.Errorf("%q: got %d rows, want %d", filter, len(seen), want)
		}
	}
}

func TestAnImpossibleTimeOfDeliveriesIsRefused(t *testing.T) {
	w := newWorld(t)
	for query, want := range map[string]int{
		"since=2026-03-01T00:00:00Z&before=2026-03-02T00:00:00Z": 200,
		"since=2026-03-02T00:00:00Z&before=2026-03-01T00:00:00Z": 400,
		"since=2026-03-01T00:00:00Z&before=2026-03-01T00:00:00Z": 400,
		"since=2026-03-01&before=2026-03-02T00:00:00Z":           400,
	} {
		got := w.ask(t, http.MethodGet, "/api/v1/runs/1/deliveries?"+query, "read", "")
		if got.Code != want {
			t.Errorf("%s: got %d %s, want %d", query, got.Code, got.Body, want)
		}
	}
}

func TestARepeatedRequestMakesNoSecondKey(t *testing.T) {
	w := newWorld(t)
	var codes []int
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/keys", strings.NewReader(`{"name": "ci", "scope": "read"}`))
		r.Header.Set("Authorization", "Bearer "+w.keys["admin"])
		r.Header.Set("Idempotency-Key", "one")
		out := httptest.NewRecorder()
		w.ServeHTTP(out, r)
		codes = append(codes, out.Code)
	}
	keys, err := w.session.Keys(t.Context())
	if err != nil || codes[0] != 200 || codes[1] != 409 || len(keys) != 5 {
		t.Errorf("got %v and %d keys (%v), want 200, 409 and 5", codes, len(keys), err)
	}
}

// documents is a folder for the documents, which `make openapi` gives to two validators.
var documents = flag.String("documents", "", "write the OpenAPI documents into this folder")

func TestTheDocumentIsWhole(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/api/v1/openapi.json", "/api/v1/openapi-3.0.json"} {
		got := w.ask(t, http.MethodGet, path, "", "")
		var doc struct {
			OpenAPI string
			Paths   map[string]map[string]struct{ OperationID, Description string }
		}
		if err := json.Unmarshal(got.Body.Bytes(), &doc); err != nil || got.Code != 200 || !strings.HasPrefix(doc.OpenAPI, "3.") ||
			len(doc.Paths) < 20 {
			t.Errorf("%s: got %d, version %q, %d paths (%v); want 200, 3, 20 or more", path, got.Code, doc.OpenAPI, len(doc.Paths), err)
		}
		described := 0
		for _, operations := range doc.Paths {
			for _, op := range operations {
				if descriptions[op.OperationID] == "" || !strings.HasPrefix(op.Description, descriptions[op.OperationID]) {
					t.Errorf("%s: the operation %s is described as %q, want its text of descriptions", path, op.OperationID, op.Description)
				}
				described++
			}
		}
		if described != len(descriptions) {
			t.Errorf("%s: %d operations and %d descriptions, want one each", path, described, len(descriptions))
		}
		for _, ref := range bytes.Split(got.Body.Bytes(), []byte(`"$ref":"#/components/schemas/`))[1:] {
			name, _, _ := bytes.Cut(ref, []byte(`"`))
			if w.api.OpenAPI().Components.Schemas.Map()[string(name)] == nil {
				t.Errorf("%s: the schema %s is missing", path, name)
			}
		}
		if *documents != "" {
			if err := os.WriteFile(filepath.Join(*documents, filepath.Base(path)), got.Body.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
