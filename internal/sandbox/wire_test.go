package sandbox

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wireRequest and wireResponse are the two files of a case.
type wireRequest struct {
	Cause, Method, Path, Query string
	Headers                    map[string]string
	Body                       json.RawMessage
	Multipart                  map[string]json.RawMessage
	Before                     []wireRequest // sent first; those under /sandbox/ have no key
	Times                      int           // of Before: how often it is sent, with other values of {n}
}

type wireResponse struct {
	Status  int
	Headers map[string]string
	Body    json.RawMessage
	Text    *string
	// Generated names the values that the server makes up, such as data[].createdAt, with their kind.
	Generated map[string]string
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
			if name == "06_block_limit" {
				blockMany(t, s, req.Headers)
			}
			made := ""
			for _, first := range req.Before {
				if !strings.HasPrefix(first.Path, "/sandbox/") {
					first.Headers = map[string]string{"authorization": req.Headers["authorization"]}
				}
				for n := range max(first.Times, 1) {
					got := ask(t, s, "", numberedWire(first, n, made))
					if got.Code/100 != 2 {
						t.Fatalf("%s %s before: %d %s, want 2xx", first.Method, first.Path, got.Code, got.Body)
					}
					made = cmp.Or(madeBy(got), made)
				}
			}
			req = numberedWire(req, 0, made)
			for range before {
				if got := ask(t, s, name, req); got.Code != 200 {
					t.Fatalf("the request before: %d %s, want 200", got.Code, got.Body)
				}
			}
			compareWire(t, req, ask(t, s, name, req), want)
		})
	}
}

// numberedWire replaces {n} in the body by a number of seven digits, and {made} in the path by the
// id of the record that the request before made.
func numberedWire(req wireRequest, n int, made string) wireRequest {
	req.Path = strings.ReplaceAll(req.Path, "{made}", made)
	req.Body = bytes.ReplaceAll(req.Body, []byte("{n}"), []byte(strconv.Itoa(1_000_000+n)))
	return req
}

func madeBy(got *httptest.ResponseRecorder) string {
	var in struct {
		Data struct{ ID, Code, AssetID string }
	}
	_ = json.Unmarshal(got.Body.Bytes(), &in) // the answer may be a list
	return cmp.Or(in.Data.ID, in.Data.Code, in.Data.AssetID)
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
