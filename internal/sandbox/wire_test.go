package sandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const wireDir = "../../testdata/wire"

// world is testdata/wire/world.json.
type world struct {
	Key           string `json:"key"`
	WebhookSecret string `json:"webhook_secret"`
	Connections   []struct {
		ID          string `json:"id"`
		PhoneNumber string `json:"phoneNumber"`
		DisplayName string `json:"displayName"`
		CompanyID   string `json:"companyId"`
		Status      string `json:"status"`
	} `json:"connections"`
	Spent     []string `json:"spent"`
	Suspended []string `json:"suspended"`
	Numbers   []struct {
		ConnectionID       string `json:"connectionId"`
		QualityRating      string `json:"qualityRating"`
		MessagingLimitTier string `json:"messagingLimitTier"`
		Throughput         struct {
			Level string `json:"level"`
		} `json:"throughput"`
		Coexistence bool `json:"coexistence"`
	} `json:"numbers"`
	Templates     []Template `json:"templates"`
	Assets        []string   `json:"assets"`
	ExpiredAssets []string   `json:"expired_assets"`
	OptedOut      []string   `json:"opted_out"`
	Unreachable   []string   `json:"unreachable"`
	WindowOpen    []string   `json:"window_open"`
}

func wireWorld(t *testing.T) Options {
	t.Helper()
	var w world
	readJSON(t, filepath.Join(wireDir, "world.json"), &w)
	has := func(list []string, id string) bool {
		for _, v := range list {
			if v == id {
				return true
			}
		}
		return false
	}
	o := Options{Keys: []Key{{Token: w.Key}}, WebhookSecret: w.WebhookSecret, Templates: w.Templates,
		OptedOut: w.OptedOut, WindowOpen: w.WindowOpen}
	for _, c := range w.Connections {
		conn := Connection{ID: c.ID, Phone: c.PhoneNumber, DisplayName: c.DisplayName, Company: c.CompanyID, Status: c.Status}
		for _, n := range w.Numbers {
			if n.ConnectionID == c.ID {
				conn.Quality, conn.Tier, conn.Throughput, conn.Coexistence = n.QualityRating, n.MessagingLimitTier, n.Throughput.Level, n.Coexistence
			}
		}
		o.Connections = append(o.Connections, conn)
		switch {
		case has(w.Spent, c.ID):
			o.Companies = append(o.Companies, Company{ID: c.CompanyID, Allowance: 1000, Used: 1000})
		case has(w.Suspended, c.ID):
			o.Companies = append(o.Companies, Company{ID: c.CompanyID, Suspended: true})
		}
	}
	for _, id := range w.Assets {
		o.Assets = append(o.Assets, Asset{ID: id})
	}
	for _, id := range w.ExpiredAssets {
		o.Assets = append(o.Assets, Asset{ID: id, Age: 31 * 24 * time.Hour})
	}
	for _, n := range w.Unreachable {
		o.Statuses.Recipients = append(o.Statuses.Recipients, Recipient{Phone: n, Fate: FateUnreachable})
	}
	return o
}

// wireRequest and wireResponse are the two files of a case.
type wireRequest struct {
	Cause, Method, Path, Query string
	Headers                    map[string]string
	Body                       json.RawMessage
	Multipart                  map[string]json.RawMessage
}

type wireResponse struct {
	Status  int
	Headers map[string]string
	Body    json.RawMessage
	Text    *string
}

// wireFault sets up what a case of cause fault is given by; nil: the sandbox has no such fault.
func wireFault(name string, o *Options) (before int, ok bool) {
	certain := 1.0
	switch name {
	case "15_window_unverified":
		o.Faults.Unverified = certain
	case "31_send_needs_template":
		o.Statuses.OutsideWindow = "refused"
	case "33_send_retryable_throughput":
		o.EnforceThroughput = true
		o.Connections[0].Rate = 1
		return 1, true
	case "34_send_retryable_pair":
		o.PairRate = 6 * time.Second
		return 1, true
	case "35_send_retryable_generic":
		o.Faults.Refusals = []Refusal{{Code: 131000, Share: certain}}
	case "36_send_media":
		o.Faults.Refusals = []Refusal{{Code: 131053, Share: certain}}
	case "38_send_unknown_class":
		o.Faults.Refusals = []Refusal{{Code: 199999, Share: certain}}
	case "50_rate_limited_retry_after":
		o.EnforceThroughput, o.Throttle, o.ThrottleWait = true, ThrottleRetryAfter, 7*time.Second
		o.Connections[0].Rate = 1
		return 1, true
	case "51_rate_limited_bare":
		o.EnforceThroughput, o.Throttle = true, ThrottleHTTP
		o.Connections[0].Rate = 1
		return 1, true
	case "60_internal_500", "61_bad_gateway_html", "62_unavailable_refusal_body",
		"63_request_timeout_408", "64_conflict_409", "65_client_closed_499":
		o.Faults.ServerError = certain
		code := map[string]int{"60": 500, "61": 502, "62": 503, "63": 408, "64": 409, "65": 499}[name[:2]]
		o.Faults.Codes = []int{code}
	case "70_ok_without_id":
		o.Faults.NoID = certain
	case "71_ok_empty":
		o.Faults.EmptyBody = certain
	case "72_ok_cut":
		o.Faults.CutBody = certain
	case "73_ok_long_id":
		o.Faults.LongID = certain
	case "47_http_301", "02_absent", "37_send_parameter":
	default:
		return 0, false
	}
	return 0, true
}

// TestWireAnswersAreTheDocumentsOwn sends every literal request and compares the answer
// with the literal answer, as testdata/wire/README.md says.
func TestWireAnswersAreTheDocumentsOwn(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(wireDir, "*", "*", "request.json"))
	if err != nil || len(dirs) < 50 {
		t.Fatalf("found %d requests: %v", len(dirs), err)
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
					t.Fatalf("no fault makes %s happen: add one, or say here why not", name)
				}
				before = n
			}
			o.HideNumbers = name == "02_absent"
			if area == "billing" {
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
			for range before {
				if got := ask(t, s, name, req); got.Code != 200 {
					t.Fatalf("the request before: %d %s", got.Code, got.Body)
				}
			}
			compareWire(t, req, ask(t, s, name, req), want)
		})
	}
}

// ask plays a literal request.
func ask(t *testing.T, s *Sandbox, name string, req wireRequest) *httptest.ResponseRecorder {
	t.Helper()
	body, contentType := []byte(req.Body), ""
	if req.Multipart != nil {
		body, contentType = form(t, req.Multipart)
	}
	url := "https://service.example" + req.Path
	if req.Query != "" {
		url += "?" + req.Query
	}
	r := httptest.NewRequest(req.Method, url, bytes.NewReader(body))
	r.Header.Set("User-Agent", "wire-test/1.0")
	for k, v := range req.Headers {
		r.Header.Set(k, v)
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
		var f struct{ Filename, ContentType, Base64 string }
		must(t, json.Unmarshal(raw, &f))
		data, err := base64.StdEncoding.DecodeString(f.Base64)
		must(t, err)
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="file"; filename=%q`, f.Filename))
		h.Set("Content-Type", f.ContentType)
		w, err := m.CreatePart(h)
		must(t, err)
		_, err = w.Write(data)
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
		t.Error("no x-request-id")
	}
	for _, h := range []string{"retry-after", "location"} {
		if got.Header().Get(h) != want.Headers[h] {
			t.Errorf("%s: %q, want %q", h, got.Header().Get(h), want.Headers[h])
		}
	}
	if want.Text != nil {
		raw := got.Body.String()
		switch {
		case strings.HasPrefix(*want.Text, "{"): // cut JSON: cut somewhere
			if json.Valid([]byte(raw)) || raw == "" {
				t.Errorf("body %q is not cut", raw)
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
	for k := range wd { // the values are made up by the server, the members are not
		if _, ok := gd[k]; !ok {
			t.Errorf("data lacks %q: %s", k, g.Data)
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
			t.Errorf("messageId %q does not carry %s (%v)", id, sent.To, err)
		}
	}
}

// TestWebhookBodiesHaveTheLiteralShape posts each kind of event and compares its members
// with the literal body, value types included.
func TestWebhookBodiesHaveTheLiteralShape(t *testing.T) {
	for name, c := range map[string]struct {
		form  EventForm
		cause func(*Sandbox) error
		fate  Recipient
	}{
		"01_status_sent":                  {fate: Recipient{Fate: FateUndelivered}},
		"02_status_delivered_unix_string": {form: EventForm{Timestamps: "unix_string"}, fate: Recipient{Fate: FateUnread}},
		"03_status_read_unix_integer":     {form: EventForm{Timestamps: "unix"}, fate: Recipient{Fate: FateRead}},
		"04_status_failed_131049":         {form: EventForm{Timestamps: "unix_string"}, fate: Recipient{Fate: FateFailed, Code: 131049}},
		"06_status_without_to":            {form: EventForm{Timestamps: "unix_string", OmitRecipient: true}, fate: Recipient{Fate: FateUnread}},
		"10_received_stop": {form: EventForm{Timestamps: "unix_string"}, cause: func(s *Sandbox) error {
			_, err := s.Receive(Inbound{Connection: "conn_1", From: "+15555550101", Text: "STOP"})
			return err
		}},
		"11_received_button": {form: EventForm{Timestamps: "unix_string"}, cause: func(s *Sandbox) error {
			_, err := s.Receive(Inbound{Connection: "conn_1", From: "+15555550101", Button: &Press{"unsubscribe", "No more offers"},
				Context: "wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA"})
			return err
		}},
		"12_received_not_ascii": {form: EventForm{Timestamps: "unix_string"}, cause: func(s *Sandbox) error {
			_, err := s.Receive(Inbound{Connection: "conn_1", From: "+15555550102", Text: "Ça marche 👍 – déjà reçu"})
			return err
		}},
		"20_template_paused": {cause: func(s *Sandbox) error { return s.SetTemplate("promo_weekend", "en_US", "paused") }},
		"21_number_updated":  {cause: func(s *Sandbox) error { return s.SetQuality("conn_1", "YELLOW") }},
		"22_account_updated": {cause: func(s *Sandbox) error { return s.SetCompany("co_1", "suspended") }},
		"07_batch_array":     {form: EventForm{Timestamps: "unix_string", Batch: 2, Linger: time.Minute}, fate: Recipient{Fate: FateUnread}},
		"32_platform_preference_stop": {form: EventForm{Envelope: "platform"}, cause: func(s *Sandbox) error {
			_, err := s.Receive(Inbound{Connection: "conn_1", From: "+15555550101", Preference: "stop"})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(wireDir, "webhooks", name, "body.json"))
			must(t, err)
			o := wireWorld(t)
			o.Connections = o.Connections[:1]
			o.Companies = nil
			o.Events = c.form
			bubble(t, o, func(t *testing.T, b *scene) {
				if c.cause != nil {
					must(t, c.cause(b.s))
				} else {
					if res := b.send(t, "conn_1", "+15555550101", "order_ready", "A-1"); res.StatusCode != 200 {
						t.Fatalf("the send was answered %s, want 200", res.Status)
					}
				}
				b.settle(t)
				got := b.hook.last(t)
				if Sign(o.WebhookSecret, got.body) != got.signature {
					t.Error("signature is not hex HMAC-SHA256 of the raw body")
				}
				if diff := cmp.Diff(shapeOf(t, want), shapeOf(t, got.body)); diff != "" {
					t.Errorf("shape (-want +got):\n%s\n%s", diff, got.body)
				}
			}, func(o *Options) {
				if c.fate.Fate != "" {
					c.fate.Phone = "+15555550101"
					o.Statuses.Recipients = []Recipient{c.fate}
				}
			})
		})
	}
}

// TestSignatureMatchesTheLiteralOnes: the hand-written bodies and signatures are ours too.
func TestSignatureMatchesTheLiteralOnes(t *testing.T) {
	secret := wireWorld(t).WebhookSecret
	files, err := filepath.Glob(filepath.Join(wireDir, "webhooks", "*", "body.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d bodies: %v", len(files), err)
	}
	for _, f := range files {
		body, err := os.ReadFile(f)
		must(t, err)
		var headers map[string]string
		readJSON(t, filepath.Join(filepath.Dir(f), "headers.json"), &headers)
		if got := Sign(secret, body); got != headers["x-service-signature"] {
			t.Errorf("%s: %s, want %s", f, got, headers["x-service-signature"])
		}
	}
}

// TestSignaturesOfEveryFormAreTheLiteralOnes: what a reader can be configured for can be rehearsed
// here.
func TestSignaturesOfEveryFormAreTheLiteralOnes(t *testing.T) {
	var file struct {
		Secret, Body string
		At           int64
		Cases        []struct {
			Name string
			Form struct {
				Encoding, Prefix string
				TimestampHeader  string `json:"timestamp_header"`
			}
			Headers map[string]string
		}
	}
	readJSON(t, filepath.Join(wireDir, "signatures", "cases.json"), &file)
	if len(file.Cases) < 5 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		form := EventForm{SignatureEncoding: c.Form.Encoding, SignaturePrefix: c.Form.Prefix, SignatureTimestamp: c.Form.TimestampHeader}
		got, want := http.Header{}, http.Header{}
		form.sign(got, file.Secret, []byte(file.Body), time.Unix(file.At, 0))
		for k, v := range c.Headers {
			want.Set(k, v)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		}
	}
}

// shapeOf replaces what differs between two events of one kind, and keeps the rest.
func shapeOf(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	must(t, json.Unmarshal(raw, &v))
	var walk func(name string, v any) any
	walk = func(name string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = walk(k, v[k])
			}
			return v
		case []any:
			for i := range v {
				v[i] = walk(name, v[i])
			}
			return v
		case string:
			switch name {
			case "id", "messageId", "createdAt", "timestamp", "title", "details", "name", "phone_number_id":
				return "a string"
			case "to", "from":
				if strings.HasPrefix(v, "+") {
					return "a number with +"
				}
			}
			return v
		case float64:
			if name == "timestamp" {
				return "a number"
			}
		}
		return v
	}
	return walk("", v)
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
