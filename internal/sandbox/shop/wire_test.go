package shop

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

const wireDir = "../../../testdata/commerce"

// wireRequest and wireResponse are the two files of a case (testdata/commerce/README.md).
type wireRequest struct {
	Cause, Given, Method, Path, Query string
	Before                            []string
	Headers                           map[string]string
	Body                              json.RawMessage
	Form                              map[string]string
}

type wireResponse struct {
	Status  int
	Headers map[string]string
	Made    map[string]string
	Absent  []string
	Body    any
}

func readWire(t testing.TB, into any, elem ...string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{wireDir}, elem...)...))
	if err == nil {
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		err = d.Decode(into)
	}
	if err != nil {
		t.Fatalf("read %v: %v, want a JSON document", elem, err)
	}
}

// wirePlatform makes a platform with the world of the literals.
func wirePlatform(t testing.TB) *Platform {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(wireDir, "scenario.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var world struct{ Commerce scenario.Commerce }
	if err := yaml.UnmarshalWithOptions(raw, &world, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	p, err := New(world.Commerce, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wireServer sends literal requests to one platform. real has the values that the platform made, by
// the literal values that stand for them.
type wireServer struct {
	*Platform
	real map[string]string
}

// TestLiteralRequestsGetTheirLiteralAnswers sends each request of testdata/commerce and compares
// the answer as the README there says.
func TestLiteralRequestsGetTheirLiteralAnswers(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(wireDir, "*", "*", "request.json"))
	if err != nil || len(files) < 95 {
		t.Fatalf("found %d requests: %v; want 95 or more", len(files), err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		name := path.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir))
		t.Run(name, func(t *testing.T) {
			s := &wireServer{wirePlatform(t), map[string]string{}}
			var req wireRequest
			readWire(t, &req, name, "request.json")
			for _, before := range req.Before {
				if s.compare(t, before); t.Failed() {
					t.Fatalf("%s failed, which comes before %s; want its literal answer", before, name)
				}
			}
			if req.Cause == "fault" {
				s.faults.Store(&scenario.Faults{TooManyRequests: 1})
			}
			s.compare(t, name)
		})
	}
}

// translate puts the values that the platform made in place of the literal ones.
func (s *wireServer) translate(text string) string {
	for literal, made := range s.real {
		text = strings.ReplaceAll(text, literal, made)
	}
	return text
}

// send sends a literal request.
func (s *wireServer) send(req wireRequest) *httptest.ResponseRecorder {
	body := string(req.Body)
	if strings.HasPrefix(body, `"`) { // a text that is no JSON object
		_ = json.Unmarshal(req.Body, &body)
	}
	if req.Form != nil {
		form := url.Values{}
		for k, v := range req.Form {
			form.Set(k, v)
		}
		body = form.Encode()
	}
	to := "http://shop.example" + req.Path
	if req.Query != "" {
		to += "?" + req.Query
	}
	r := httptest.NewRequest(req.Method, s.translate(to), strings.NewReader(s.translate(body)))
	for k, v := range req.Headers {
		r.Header.Set(k, s.translate(v))
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// compare sends a case and compares its answer.
func (s *wireServer) compare(t *testing.T, name string) {
	t.Helper()
	var req wireRequest
	var want wireResponse
	readWire(t, &req, name, "request.json")
	readWire(t, &want, name, "response.json")
	got := s.send(req)
	if got.Code != want.Status {
		t.Fatalf("status %d, want %d: %s", got.Code, want.Status, got.Body)
	}
	for k, v := range want.Headers {
		h := got.Header().Get(k)
		if _, err := strconv.Atoi(h); h != v && (k != "retry-after" || err != nil) {
			t.Errorf("%s: %q, want %q", k, h, v)
		}
	}
	for _, secret := range want.Absent {
		if strings.Contains(got.Body.String(), secret) {
			t.Errorf("the answer has %q, want it masked: %s", secret, got.Body)
		}
	}
	if want.Body == nil {
		return
	}
	var body any
	d := json.NewDecoder(strings.NewReader(got.Body.String()))
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		t.Fatalf("body %q: %v, want JSON", got.Body, err)
	}
	for _, at := range slices.Sorted(maps.Keys(want.Made)) {
		s.made(t, at, want.Made[at], pointed(body, at), pointed(want.Body, at))
	}
	s.same(t, "", body, want.Body, want)
}

// pointed is the value at a JSON pointer (RFC 6901), or nil.
func pointed(v any, at string) any {
	for _, name := range strings.Split(at, "/")[1:] {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// same compares a value at a JSON pointer.
func (s *wireServer) same(t *testing.T, at string, got, want any, all wireResponse) {
	t.Helper()
	if _, ok := all.Made[at]; ok {
		return // compared by its form
	}
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s: got %v, want an object", at, got)
			return
		}
		for k, v := range want {
			if _, ok := g[k]; !ok {
				t.Errorf("%s/%s: absent, want %v", at, k, v)
				continue
			}
			s.same(t, at+"/"+k, g[k], v, all)
		}
		whole := all.Status >= 400 || strings.HasPrefix(at, "/links") || strings.HasPrefix(at, "/meta")
		for k := range g {
			if _, ok := want[k]; !ok && whole {
				t.Errorf("%s/%s: got %v, want no such member", at, k, g[k])
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			t.Errorf("%s: got %v, want %d members", at, got, len(want))
			return
		}
		for i := range want {
			s.same(t, at+"/"+strconv.Itoa(i), g[i], want[i], all)
		}
	case json.Number:
		g, ok := got.(json.Number)
		a, _ := value.ParseAmount(g.String())
		b, err := value.ParseAmount(want.String())
		if !ok || err != nil || !a.Equal(b.Decimal) {
			t.Errorf("%s: got %v, want the number %s", at, got, want)
		}
	case string:
		g, ok := got.(string)
		w := s.translate(want)
		if !ok || g != w && !sameURL(g, w) {
			t.Errorf("%s: got %v, want %q", at, got, w)
		}
	default:
		if got != want {
			t.Errorf("%s: got %v, want %v", at, got, want)
		}
	}
}

// sameURL compares two addresses, whose parameters have no order.
func sameURL(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Host != "" && x.Host == y.Host && x.Path == y.Path &&
		x.Query().Encode() == y.Query().Encode()
}

var madeForms = map[string]*regexp.Regexp{
	"id":                regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`),
	"order reference":   regexp.MustCompile(`^#ORDER_[1-9][0-9]*$`),
	"payment reference": regexp.MustCompile(`^[A-Z]+_[1-9][0-9]*$`),
	"invoice reference": regexp.MustCompile(`^#INV_[1-9][0-9]*$`),
	"token":             regexp.MustCompile(`^\S{16,}$`),
	"text":              regexp.MustCompile(`\S`),
	"url":               regexp.MustCompile(`^http://shop\.example/\S+$`),
}

// made checks the form of a value that the platform makes, and keeps it.
func (s *wireServer) made(t *testing.T, at, form string, got, want any) {
	t.Helper()
	text, isText := got.(string)
	ok := false
	switch form {
	case "any":
		ok = true
	case "number":
		_, ok = got.(json.Number)
	case "list":
		_, ok = got.([]any)
	case "time":
		_, err := time.Parse(time.RFC3339, text)
		ok = err == nil
	default:
		ok = isText && madeForms[form].MatchString(text)
	}
	if !ok {
		t.Errorf("%s: got %v, want a value of the form %q, such as %v", at, got, form, want)
	}
	literal, _ := want.(string)
	switch form {
	case "id", "token":
		s.real[literal] = text
	case "url":
		s.real[path.Base(literal)] = path.Base(text)
	}
}
