package sandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// wireRequest and wireResponse are the two files of a case.
type wireRequest struct {
	Cause, Method, Path, Query string
	Headers                    map[string]string
	Body                       json.RawMessage
	Multipart                  map[string]json.RawMessage
	Before                     []wireRequest // sent first; those under /sandbox/ have no key
}

type wireResponse struct {
	Status  int
	Headers map[string]string
	Body    json.RawMessage
	Text    *string
}

// The test sends every literal request and compares the answer with the literal answer, as
// testdata/wire/README.md says.
func TestWireAnswersAreTheDocumentsOwn(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(wireDir, "*", "*", "request.json"))
	if err != nil || len(dirs) < 50 {
		t.Fatalf("found %d requests: %v; want 50 or more", len(dirs), err)
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		area := filepath.Base(filepath.Dir(dir))
		t.Run(area+"/"+name, func(t *testing.T) {
			var req wireRequest
			var want wireResponse
			readJSON(t, file, &req)
			readJSON(t, filepath.Join(dir, "response.json"), &want)
			o := wireWorld(t)
			before := 0
			if req.Cause == "fault" {
				n, known := wireFault(name, &o)
				if !known {
					t.Fatalf("no fault makes %s happen, want one in wireFault", name)
				}
				before = n
			}
			o.HideNumbers = name == "02_absent"
			if name == "01_client_key" {
				o.Keys[0].Company = "co_1"
			}
			s, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			if area == "webhookadmin" && name == "02_list" {
				var reg wireRequest
				readJSON(t, filepath.Join(wireDir, area, "01_register", "request.json"), &reg)
				ask(t, s, "01_register", reg)
			}
			for _, first := range req.Before {
				if !strings.HasPrefix(first.Path, "/sandbox/") {
					first.Headers = map[string]string{"authorization": req.Headers["authorization"]}
				}
				if got := ask(t, s, "", first); got.Code/100 != 2 {
					t.Fatalf("%s %s before: %d %s, want 2xx", first.Method, first.Path, got.Code, got.Body)
				}
			}
			for range before {
				if got := ask(t, s, name, req); got.Code != 200 {
					t.Fatalf("the request before: %d %s, want 200", got.Code, got.Body)
				}
			}
			compareWire(t, req, ask(t, s, name, req), want)
		})
	}
}

// ask sends a literal request.
func ask(t *testing.T, s *Sandbox, name string, req wireRequest) *httptest.ResponseRecorder {
	t.Helper()
	body, contentType := []byte(req.Body), ""
	if req.Multipart != nil {
		body, contentType = form(t, req.Multipart)
	}
	url := "https://service.example" + req.Path
	if req.Query != "" {
		url += "?" + strings.ReplaceAll(req.Query, "{today}", time.Now().UTC().Format(time.DateOnly))
	}
	r := httptest.NewRequest(req.Method, url, bytes.NewReader(body))
	r.Header.Set("User-Agent", "wire-test/1.0")
	for k, v := range req.Headers {
		r.Header.Set(k, v)
	}
	if contentType == "" && len(req.Body) > 0 && req.Headers["content-type"] == "" {
		contentType = "application/json"
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if name == "47_http_301" {
		r.Header.Set("X-Forwarded-Proto", "http")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func form(t *testing.T, parts map[string]json.RawMessage) ([]byte, string) {
	t.Helper()
	var buf bytes.Buffer
	m := multipart.NewWriter(&buf)
	for name, raw := range parts {
		if name != "file" {
			var v string
			must(t, json.Unmarshal(raw, &v))
			must(t, m.WriteField(name, v))
			continue
		}
		var f struct {
			Filename, ContentType, Base64 string
			Zeros                         int // bytes that follow
		}
		must(t, json.Unmarshal(raw, &f))
		data, err := base64.StdEncoding.DecodeString(f.Base64)
		must(t, err)
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="file"; filename=%q`, f.Filename))
		h.Set("Content-Type", f.ContentType)
		w, err := m.CreatePart(h)
		must(t, err)
		_, err = w.Write(append(data, make([]byte, f.Zeros)...))
		must(t, err)
	}
	must(t, m.Close())
	return buf.Bytes(), m.FormDataContentType()
}

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
	type body struct {
		Error string
		Meta  *struct {
			ErrorClass string
			Code       int
			Retryable  bool
		}
		Data json.RawMessage
	}
	var g, w body
	must(t, json.Unmarshal(got.Body.Bytes(), &g))
	must(t, json.Unmarshal(want.Body, &w))
	if g.Error != w.Error {
		t.Errorf("error %q, want %q", g.Error, w.Error)
	}
	if diff := cmp.Diff(w.Meta, g.Meta); diff != "" {
		t.Errorf("meta (-want +got):\n%s", diff)
	}
	if strings.HasPrefix(string(w.Data), "[") {
		var a, b any
		must(t, json.Unmarshal(g.Data, &a))
		must(t, json.Unmarshal(w.Data, &b))
		undate(a)
		undate(b)
		if diff := cmp.Diff(b, a); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
		return
	}
	var gd, wd map[string]any
	if len(w.Data) > 0 {
		must(t, json.Unmarshal(g.Data, &gd))
		must(t, json.Unmarshal(w.Data, &wd))
	}
	for k := range wd { // the server chooses the values, so only the members are compared
		if _, ok := gd[k]; !ok {
			t.Errorf("data lacks %q: %s; want it there", k, g.Data)
		}
	}
	if len(gd) != len(wd) {
		t.Errorf("data %s, want the members of %s", g.Data, w.Data)
	}
	wc, _ := wd["warning"].(map[string]any)
	gc, _ := gd["warning"].(map[string]any)
	if wc["code"] != gc["code"] {
		t.Errorf("warning %v, want %v", gc["code"], wc["code"])
	}
	var sent struct{ To string }
	if id, _ := gd["messageId"].(string); id != "" && len(id) < 257 && json.Unmarshal(req.Body, &sent) == nil {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(id, "wamid."))
		if err != nil || raw[0] != 0x1c || raw[1] != 0x18 || "+"+string(raw[3:3+raw[2]]) != sent.To {
			t.Errorf("messageId %q does not hold the recipient, want %s (%v)", id, sent.To, err)
		}
	}
}

// undate empties the times of a list, which are those of the test.
func undate(rows any) {
	for _, row := range rows.([]any) {
		if m, ok := row.(map[string]any); ok {
			for _, name := range []string{"date", "createdAt", "expiresAt"} {
				if m[name] != nil {
					m[name] = ""
				}
			}
		}
	}
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	must(t, err)
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("read %s: %v, want a JSON document", file, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
