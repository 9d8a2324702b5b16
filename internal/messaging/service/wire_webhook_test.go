package service

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

// wireEvent returns the event in the form of events.json.
func wireEvent(e messaging.Event) map[string]any {
	out := map[string]any{"kind": e.Kind.String(), "type": e.Type}
	put := func(k, v string) {
		if v != "" {
			out[k] = v
		}
	}
	if !e.At.IsZero() {
		out["at"] = e.At.Format(time.RFC3339)
	}
	put("message_id", e.MessageID)
	put("status", string(e.Status))
	put("recipient", e.Recipient)
	put("connection", e.Connection)
	put("number", e.Number)
	if e.Code != 0 {
		out["code"] = float64(e.Code)
	}
	if in := e.Inbound; in != nil {
		put("from", in.From)
		put("text", in.Text)
		put("type", in.Type)
		put("button", in.ButtonPayload)
		put("context", in.ContextID)
		out["opt_out"] = messaging.OptOut{}.Match(in.Text)
	}
	if r := e.Review; r != nil {
		put("name", r.Name)
		put("language", r.Language)
		put("event", r.Event)
		put("category", r.Category)
		put("reason", r.Reason)
	}
	if p := e.Preference; p != nil {
		put("from", p.From)
		out["preference"] = map[bool]string{true: "stop", false: "resume"}[p.Stop]
	}
	return out
}

func TestWebhooksOfTheWireVerifyAndDecode(t *testing.T) {
	var world wireWorld
	readJSON(t, &world, "world.json")
	v, err := messaging.NewVerifier(messaging.SignatureForm{}, messaging.NewSecret(world.WebhookSecret))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range wireCases(t, "webhooks") {
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join(wireRoot, "webhooks", name, "body.json"))
			if err != nil {
				t.Fatal(err)
			}
			var headers map[string]string
			readJSON(t, &headers, "webhooks", name, "headers.json")
			h := http.Header{}
			for k, v := range headers {
				h.Set(k, v)
			}
			if _, err := v.Verify(h, body, time.Now()); err != nil {
				t.Fatal(err)
			}
			var want struct{ Events []map[string]any }
			readJSON(t, &want, "webhooks", name, "events.json")
			got, err := DecodeEvents(body)
			if err != nil || len(got) != len(want.Events) {
				t.Fatalf("%d events, %v, want %d: %+v", len(got), err, len(want.Events), got)
			}
			for i, w := range want.Events {
				g := wireEvent(got[i])
				for k, v := range w {
					if fmt.Sprint(g[k]) != fmt.Sprint(v) {
						t.Errorf("event %d: %s is %v, want %v", i, k, g[k], v)
					}
				}
			}
		})
	}
}
