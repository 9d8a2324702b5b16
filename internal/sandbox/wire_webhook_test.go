package sandbox

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The test posts each kind of event and compares its members, and the types of their values, with
// the literal body.
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
				if hexSignature(o.WebhookSecret, got.body) != got.signature {
					t.Error("the signature is not that of Sign, want hex HMAC-SHA256 of the raw body")
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

// The literal bodies of testdata/wire have the signatures that hexSignature gives.
func TestSignatureMatchesTheLiteralOnes(t *testing.T) {
	secret := wireWorld(t).WebhookSecret
	files, err := filepath.Glob(filepath.Join(wireDir, "webhooks", "*", "body.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d bodies: %v; want 10 or more", len(files), err)
	}
	for _, f := range files {
		body, err := os.ReadFile(f)
		must(t, err)
		var headers map[string]string
		readJSON(t, filepath.Join(filepath.Dir(f), "headers.json"), &headers)
		if got := hexSignature(secret, body); got != headers["x-service-signature"] {
			t.Errorf("%s: %s, want %s", f, got, headers["x-service-signature"])
		}
	}
}

// Every form that a client can be configured for can be tried with the sandbox.
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
		t.Fatalf("%d cases, want 5 or more", len(file.Cases))
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

// shapeOf replaces the values that differ between two events of one kind, and keeps the rest.
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

// hexSignature is the signature of a body in the default form (docs/service.md#signature).
func hexSignature(secret string, body []byte) string {
	return hex.EncodeToString(digest(secret, "", body))
}
