package console

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// open are the routes that need no session.
var open = []route{
	{method: http.MethodGet, path: "/console/{run}"},
	{method: http.MethodGet, path: "/console/assets/{run}"},
	{method: http.MethodGet, path: "/console/sign-in"},
	{method: http.MethodGet, path: "/console/enter"},
	{method: http.MethodPost, path: "/console/sign-in"},
	{method: http.MethodPost, path: "/console/sign-out"},
}

// fuzzed has the names of all fields of forms and parameters of addresses.
var fuzzed = []string{"status", "reason", "code", "connection", "to", "since", "before", "before_id", "after", "campaign", "all", "state",
	"unfinished", "scope", "id", "for", "numbers", "number", "name", "company", "nonce", "key", "class", "weight", "rate",
	"deadline", "token", "row", "offset", "sum", "column-to", "column-first_name", "default-first_name", "another", "early", "ends_comparison",
	"excel", "where",
	"find", "template", "language", "shows"}

func TestTheFuzzTestHasEachField(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	field, found := regexp.MustCompile(`(?:(?:form|q|Query\(\))\.Get|PostFormValue)\("([^"]+)"\)`), 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range field.FindAllStringSubmatch(string(text), -1) {
			if found++; !slices.Contains(fuzzed, m[1]) {
				t.Errorf("%s: the field %q is not in fuzzed, want each field there", name, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d fields, want those of all forms", found)
	}
}

// FuzzRoutes sends any parameters to each route. No answer is a fault of the server, and no value
// is markup.
func FuzzRoutes(f *testing.F) {
	w := newWorld(f)
	routes := slices.Concat(w.routes, open)
	for _, s := range []string{"", "1", hostile, "\xff", "2026-03-02T09:00", "-1", "9223372036854775808", "+2348031234560", "1e400", "5m",
		strings.Repeat("9", 5000), "spring-1", "latest", "../..", "%2e%2e", "company", "draft-0"} {
		for route := range len(routes) {
			f.Add(route, s, s)
		}
	}
	f.Fuzz(func(t *testing.T, route int, in, value string) {
		r := &routes[int(uint(route)%uint(len(routes)))] //nolint:gosec // an index
		values := url.Values{}
		for _, name := range fuzzed {
			values.Set(name, value)
		}
		draft, name := w.draft, "admin"
		if strings.HasPrefix(in, "draft") {
			draft = url.PathEscape(in)
		}
		if r.page == "" && r.operations == nil {
			name = "nobody" // else the session would end
		}
		path := strings.NewReplacer("{run}", url.PathEscape(in), "{connection}", url.PathEscape(in), "{no}", url.PathEscape(in),
			"{draft}", draft).Replace(r.path)
		var form url.Values
		if r.method == http.MethodPost {
			form = values
			form.Set("sure", value)
		} else {
			path += "?" + values.Encode()
		}
		got := w.request(path, name, form)
		if got.Code >= 500 {
			t.Errorf("%s %s: got %d, want no fault of the server", r.method, path, got.Code)
		}
		if text := got.Body.String(); strings.HasPrefix(got.Header().Get("Content-Type"), "text/html") && unsafe(text) != "" {
			t.Errorf("%s %s: the page has %q", r.method, path, unsafe(text))
		}
	})
}
