package sandbox

import (
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// compareWire compares an answer with the literal answer: everything but prose, and of the values
// that Generated names, only the kind.
func compareWire(t *testing.T, req wireRequest, got *httptest.ResponseRecorder, want wireResponse) {
	t.Helper()
	if got.Code != want.Status {
		t.Fatalf("status %d, want %d: %s", got.Code, want.Status, got.Body)
	}
	if got.Header().Get("x-request-id") == "" {
		t.Error("the answer has no x-request-id, want one")
	}
	for _, h := range []string{"retry-after", "location"} {
		if got.Header().Get(h) != want.Headers[h] {
			t.Errorf("%s: %q, want %q", h, got.Header().Get(h), want.Headers[h])
		}
	}
	if want.Text != nil {
		raw := got.Body.String()
		switch {
		case strings.HasPrefix(*want.Text, "{"): // JSON that is cut at any byte
			if json.Valid([]byte(raw)) || raw == "" {
				t.Errorf("body %q, want JSON that is cut", raw)
			}
		case raw != *want.Text:
			t.Errorf("body %q, want %q", raw, *want.Text)
		}
		return
	}
	g, w := wireBody(t, got.Body.Bytes()), wireBody(t, want.Body)
	for path, kind := range want.Generated {
		for name, side := range map[string]any{"the answer": g, "the literal": w} {
			found := 0
			replaceAt(side, strings.Split(path, "."), func(value any) any {
				found++
				if !generated(kind, value, req) {
					t.Errorf("%s: %s has %.60v, want a value of kind %s", path, name, value, kind)
				}
				return kind
			})
			if found == 0 {
				t.Errorf("%s: %s has no such value, want one of kind %s", path, name, kind)
			}
		}
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// wireBody decodes a body without its prose and its traceId.
func wireBody(t *testing.T, raw []byte) any {
	t.Helper()
	var body any
	must(t, json.Unmarshal(raw, &body))
	if meta, ok := body.(map[string]any)["meta"].(map[string]any); ok {
		delete(meta, "traceId") // optional
	}
	for _, path := range []string{"message", "data.warning.message"} {
		replaceAt(body, strings.Split(path, "."), func(any) any { return "" })
	}
	return body
}

// replaceAt replaces the values at a path. A name that ends with [] goes into each element.
func replaceAt(value any, path []string, by func(any) any) {
	name, each := strings.CutSuffix(path[0], "[]")
	object, _ := value.(map[string]any)
	member, ok := object[name]
	switch {
	case !ok:
	case each:
		elements, _ := member.([]any)
		for _, e := range elements {
			replaceAt(e, path[1:], by)
		}
	case len(path) == 1:
		object[name] = by(member)
	default:
		replaceAt(member, path[1:], by)
	}
}

// kinds are the forms of the values that a server makes up.
var kinds = map[string]*regexp.Regexp{
	"id":     regexp.MustCompile(`^[A-Za-z0-9_.:=/+-]{1,256}$`),
	"date":   regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`),
	"secret": regexp.MustCompile(`^[^ ]{16,}$`),
	"url":    regexp.MustCompile(`^https://[^ ]+$`),
}

// generated reports whether a value that a server makes up is of its kind.
func generated(kind string, value any, req wireRequest) bool {
	text, ok := value.(string)
	switch {
	case !ok:
		return false
	case kind == "long id":
		return strings.HasPrefix(text, "wamid.") && len(text) > 256
	case kind == "time":
		_, err := time.Parse(time.RFC3339, text)
		return err == nil
	case kind == "wamid": // it holds the recipient (docs/protocol.md#adoption)
		var sent struct{ To string }
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "wamid."))
		return json.Unmarshal(req.Body, &sent) == nil && err == nil && len(raw) > 3 && raw[0] == 0x1c && raw[1] == 0x18 &&
			len(raw) > 3+int(raw[2]) && "+"+string(raw[3:3+raw[2]]) == sent.To
	}
	return kinds[kind] != nil && kinds[kind].MatchString(text)
}
