package console

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"campaignd/internal/client/resource"
)

// unsafe is what no page may have: markup of a value, or what the policy forbids.
func unsafe(text string) string {
	// The report of a run has one style of its own, which its policy names by its hash.
	text = strings.Replace(text, "<style>/* The style of the report of a run;", "", 1)
	for _, s := range []string{"<script>alert", "\u202e", "\x00", " style=", "<style", "javascript:", "onload=", "ZgotmplZ", "%!"} {
		if strings.Contains(text, s) {
			return s
		}
	}
	if found := regexp.MustCompile(`(?:href|src|action)="(?:https?:)?//`).FindString(text); found != "" {
		return found
	}
	return ""
}

func TestNoValueIsMarkup(t *testing.T) {
	w := newWorld(t)
	seen := false
	for i := range w.routes {
		r := &w.routes[i]
		for _, sure := range []bool{false, true} {
			got := w.request(w.address(r.path), "admin", formOf(r, sure))
			text := got.Body.String()
			if got.Code >= 500 || strings.HasPrefix(got.Header().Get("Content-Type"), "text/html") && unsafe(text) != "" {
				t.Errorf("%s %s: got %d and %q, want neither a fault nor that", r.method, r.path, got.Code, unsafe(text))
			}
			seen = seen || strings.Contains(text, "&lt;script&gt;")
		}
	}
	if !seen {
		t.Error("no page shows a hostile value, want some to")
	}
	long := strings.Repeat("x", 10_000)
	if got := w.request("/console/runs?campaign="+long, "admin", nil); got.Code != 200 {
		t.Errorf("a name of 10,000 characters: got %d, want 200", got.Code)
	}
}

// Each page has one heading, a title, its language, and a label for each field.
func TestEachPageIsWhole(t *testing.T) {
	w := newWorld(t)
	field := regexp.MustCompile(`<(?:input|select|textarea) id="([^"]+)"`)
	audits := regexp.MustCompile(`method="post" action="/console/runs/[^/"]+/audit"`)
	for i := range w.routes {
		r := &w.routes[i]
		if r.method != http.MethodGet || r.page == "" {
			continue
		}
		for _, name := range []string{"read", "operate", "admin"} {
			got := w.request(w.address(r.path), name, nil)
			text := got.Body.String()
			if got.Code != 200 {
				continue // refused, or without an example
			}
			if n := strings.Count(text, "<h1"); n != 1 || !strings.Contains(text, `<html lang="en">`) || strings.Contains(text, "<title> ·") {
				t.Errorf("%s as %s: got %d headings, want one, a title and a language", r.path, name, n)
			}
			for _, id := range field.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(text, `<label for="`+id[1]+`"`) {
					t.Errorf("%s as %s: the field %s has no label", r.path, name, id[1])
				}
			}
			text = audits.ReplaceAllString(text, "") // an audit changes nothing
			if name == "read" && strings.Contains(text, `method="post" action="/console/`+"runs") {
				t.Errorf("%s: a key that may only look is shown an action", r.path)
			}
		}
	}
}

func TestALongPageIsCompressed(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]string{"/console/runs/spring-1/deliveries": "gzip", "/console/drops": ""} {
		got := w.request(path, "admin", nil, "Accept-Encoding", "gzip, br")
		if got.Header().Get("Content-Encoding") != want {
			t.Fatalf("%s: got the encoding %q, want %q", path, got.Header().Get("Content-Encoding"), want)
		}
		if want == "" {
			continue
		}
		z, err := gzip.NewReader(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(z); err != nil || string(text) != w.request(path, "admin", nil).Body.String() {
			t.Errorf("%s: got another page (%v), want the same", path, err)
		}
	}
	form := url.Values{"name": {strings.Repeat("n", 100)}, "scope": {"read"}, "nonce": {"n"}}
	if got := w.request("/console/keys/create", "admin", form, "Accept-Encoding", "gzip"); got.Header().Get("Content-Encoding") != "" {
		t.Errorf("the page with a secret: got the encoding %q, want none", got.Header().Get("Content-Encoding"))
	}
}

func TestTheSecretOfAKeyIsShownOnce(t *testing.T) {
	w := newWorld(t)
	form := url.Values{"name": {"till"}, "scope": {"read"}, "nonce": {"n1"}}
	got := w.request("/console/keys/create", "admin", form)
	secret := regexp.MustCompile(`cpd_[0-9a-f_]+`).FindString(got.Body.String())
	if got.Code != 200 || len(secret) < 60 {
		t.Fatalf("got %d and the secret %q, want one", got.Code, secret)
	}
	if text := w.request("/console/keys", "admin", nil).Body.String(); strings.Contains(text, secret) || !strings.Contains(text, "till") {
		t.Error("the list of keys: want the key without its secret")
	}
	if got := w.request("/console/keys/create", "admin", form); got.Code != http.StatusConflict {
		t.Errorf("the form again: got %d, want 409 and no second key", got.Code)
	}
}

func TestAssetsAreOursAndKept(t *testing.T) {
	w := newWorld(t)
	for name, a := range w.assets.byName {
		got := w.request("/console/assets/"+name, "", nil, "Accept-Encoding", "gzip")
		if got.Code != 200 || !strings.Contains(got.Header().Get("Cache-Control"), "immutable") || got.Header().Get("Content-Type") != a.kind {
			t.Errorf("%s: got %d %v, want a file that is kept", name, got.Code, got.Header())
		}
		if got.Body.Len() > 32<<10 {
			t.Errorf("%s: got %d bytes, want at most 32 KiB", name, got.Body.Len())
		}
	}
	css := w.request(w.assets.path("console.css"), "", nil).Body.String()
	if !strings.Contains(css, `url("`+w.assets.hashed[fontName]+`")`) || strings.Contains(css, "//") {
		t.Error("the style: want the hashed name of the font, and no address of another host")
	}
	if got := w.request("/console/assets/none.css", "", nil); got.Code != http.StatusNotFound {
		t.Errorf("another name: got %d, want 404", got.Code)
	}
}

func TestSentencesBeginWithACapital(t *testing.T) {
	for s, want := range map[string]string{"it is sent": "It is sent.", "conn_1 is held": "conn_1 is held.", "": "", "Done.": "Done.",
		"it ends at noon; `campaignd holds lift key k` ends it earlier": "It ends at noon.",
		"it waits for approval: `campaignd approve spring-1`":           "It waits for approval.",
		"undeliverable: no account":                                     "Undeliverable: no account.",
		"spring-1: no limit":                                            "spring-1: no limit.",
	} {
		if got := sentence(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

func TestCountsAgreeWithTheirWords(t *testing.T) {
	for want, s := range map[string]resource.Suppressed{
		"1 number was suppressed.":                              {Changed: 1},
		"2 numbers were suppressed; 1 was on the list before.":  {Changed: 2, Unchanged: 1},
		"0 numbers were suppressed; 3 were on the list before.": {Unchanged: 3},
	} {
		if got := changed(s, "suppressed", "on the list before"); got != want {
			t.Errorf("%+v: got %q, want %q", s, got, want)
		}
	}
}
