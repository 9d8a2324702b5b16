package messaging

import (
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// another is a service that differs from every assumption.
var another = Assumed{
	ConnectionsPath: "/v2/senders", NumbersPath: "/v2/health", TemplatesPath: "/v2/models", MediaPath: "/v2/files", WebhooksPath: "/v2/hooks",
	TemplatesParameter: "sender", MediaFileField: "upload", MediaConnectionField: "sender",
	Lists: map[string]string{"connections": "result.senders", "numbers": "result", "templates": "models", "webhooks": "hooks"},
	Fields: map[string]string{
		"connections.id": "ref", "connections.phoneNumber": "line.e164", "connections.companyId": "owner.ref", "connections.status": "health",
		"numbers.connectionId": "sender", "numbers.qualityRating": "health.colour", "numbers.messagingLimitTier": "health.reach",
		"numbers.throughput": "speed.per_second", "numbers.coexistence": "app",
		"templates.name": "title", "templates.language": "lang", "templates.status": "review.state", "templates.components": "parts",
		"components.type": "part", "components.text": "content", "components.buttons": "actions", "buttons.url": "target", "buttons.type": "kind",
		"media.assetId": "file.ref", "media.expiresAt": "file.until",
		"webhooks.url": "target", "webhooks.secret": "signing.secret", "webhooks.events": "filter.topics",
		"event.id": "uuid", "event.type": "topic", "event.createdAt": "meta.when", "event.connectionId": "meta.sender", "event.data": "body",
		"status.messageId": "message.ref", "status.status": "state", "status.to": "message.recipient", "status.timestamp": "when",
		"error.code": "reason.number", "error.title": "reason.text",
		"received.from": "author", "received.text": "content", "received.messageId": "ref",
		"template.name": "title", "template.language": "lang", "template.event": "review",
		"preference.wa_id": "person", "preference.value": "wish",
		"number.phoneNumber": "line", "account.companyId": "owner",
	},
	Events: map[string]string{"dlr": "message.status", "mo": "message.received", "model": "template.status", "line": "number.updated",
		"client": "account.updated", "consent": "preference.updated"},
	Timestamps: []string{"02.01.2006 15:04:05 -0700"},
	RetryAfter: "X-Wait",
	Throttled:  []StatusCode{{420, ""}, {503, "too_fast"}},
}

func TestAnotherServiceWorksByConfigurationAlone(t *testing.T) {
	mux := http.NewServeMux()
	answer := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
	}
	answer("GET /v2/senders", `{"result":{"senders":[{"ref":"s1","line":{"e164":"+15555550100"},"owner":{"ref":"co_1"},"health":"ok"}]}}`)
	answer("GET /v2/health", `{"result":[{"sender":"s1","health":{"colour":"green","reach":"2000"},"speed":{"per_second":40},"app":false}]}`)
	answer("GET /v2/models", `{"models":[{"title":"sale","lang":"en-US","review":{"state":"approved"},"category":"MARKETING",
		"parts":[{"part":"body","content":"Hi {{1}}"},{"part":"buttons","actions":[{"kind":"url","target":"https://x.example/{{1}}"}]}]}]}`)
	var form *multipart.Form
	mux.HandleFunc("POST /v2/files", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			t.Error(err)
		}
		form = r.MultipartForm
		io.WriteString(w, `{"data":{"file":{"ref":"f1","until":"2026-12-21T00:00:00Z"}}}`)
	})
	var registered map[string]any
	mux.HandleFunc("POST /v2/hooks", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&registered); err != nil {
			t.Error(err)
		}
		io.WriteString(w, `{"data":{"id":"h1","target":"https://me.example/in","signing":{"secret":"s3cret"}}}`)
	})
	answer("GET /v2/hooks", `{"hooks":[{"id":"h1","target":"https://me.example/in","filter":{"topics":["dlr"]}}]}`)
	server := httptest.NewServer(mux)
	defer server.Close()
	c := testClient(t, server.URL, Options{Assumed: another})
	check := func(what string, got, want any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v (%v)\nwant %+v", what, got, err, want)
		}
	}
	connections, err := c.Connections(t.Context())
	check("connections", connections, []Connection{{ID: "s1", Phone: "+15555550100", CompanyID: "co_1", Status: "ok"}}, err)
	numbers, err := c.Numbers(t.Context())
	check("numbers", numbers, []Number{{ConnectionID: "s1", Quality: "GREEN", Tier: "2000", TierLimit: 2000, Throughput: 40}}, err)
	templates, err := c.Templates(t.Context(), "s1")
	check("templates", templates, []TemplateRecord{{Name: "sale", Language: "en_US", Status: "APPROVED", Category: "MARKETING",
		Components: []Component{{Type: "BODY", Text: "Hi {{1}}"},
			{Type: "BUTTONS", Buttons: []ComponentButton{{Type: "URL", URL: "https://x.example/{{1}}"}}}}}}, err)
	asset, err := c.UploadMedia(t.Context(), "s1", "a.png", "image/png", strings.NewReader("x"))
	check("media", asset, Asset{ID: "f1", ExpiresAt: time.Date(2026, 12, 21, 0, 0, 0, 0, time.UTC)}, err)
	check("form", form.Value["sender"], []string{"s1"}, nil)
	check("file", len(form.File["upload"]), 1, nil)
	hook, err := c.RegisterWebhook(t.Context(), "https://me.example/in", []string{"dlr"})
	check("registration", [2]string{hook.ID, hook.Secret.Reveal()}, [2]string{"h1", "s3cret"}, err)
	check("its body", registered, map[string]any{"target": "https://me.example/in", "filter": map[string]any{"topics": []any{"dlr"}}}, nil)
	hooks, err := c.Webhooks(t.Context())
	check("webhooks", hooks, []Webhook{{ID: "h1", URL: "https://me.example/in", Events: []string{"dlr"}}}, err)
}

func TestAnotherFormOfEventsByConfigurationAlone(t *testing.T) {
	when := time.Date(2026, 9, 21, 14, 13, 20, 0, time.UTC)
	frame := func(topic, body string) string {
		return `{"uuid":"e1","topic":"` + topic + `","meta":{"when":"21.09.2026 16:13:20 +0200","sender":"s1"},"body":` + body + `}`
	}
	for body, want := range map[string]Event{
		frame("dlr", `{"message":{"ref":"wamid.X","recipient":"+15555550101"},"state":"failed","when":"21.09.2026 14:13:20 +0000",`+
			`"error":{"reason":{"number":131042,"text":"unpaid"}}}`): {Kind: KindStatus, MessageID: "wamid.X", Status: StatusFailed,
			Recipient: "15555550101", Code: 131042, Title: "unpaid"},
		frame("mo", `{"ref":"wamid.Y","author":"+15555550101","content":"STOP"}`): {Kind: KindMessage, MessageID: "wamid.Y",
			Inbound: &Inbound{From: "15555550101", Text: "STOP"}},
		frame("model", `{"title":"sale","lang":"en-US","review":"PAUSED"}`): {Kind: KindTemplate,
			Review: &Review{Name: "sale", Language: "en_US", Event: "PAUSED"}},
		frame("consent", `{"person":"15555550101","wish":"stop"}`): {Kind: KindPreference,
			Preference: &Preference{From: "15555550101", Stop: true}},
		frame("line", `{"line":"+15555550100"}`): {Kind: KindNumber, Number: "15555550100"},
		frame("client", `{"owner":"co_1","status":"suspended"}`): {Kind: KindAccount,
			Change: &Change{Company: "co_1", Word: "SUSPENDED"}},
	} {
		got, err := another.DecodeEvents([]byte(body))
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %v; want one event", body, got, err)
		}
		e := got[0]
		want.ID, want.Connection, want.At, want.Type = "e1", "s1", when, e.Type
		if !reflect.DeepEqual(e, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", body, e, want)
		}
	}
	// Events with our names are still understood, as are times of the usual forms.
	got, err := another.DecodeEvents([]byte(`[{"id":"e1","type":"message.status","createdAt":1790000000,"connectionId":"s1",` +
		`"data":{"messageId":"wamid.X","status":"read","timestamp":"1790000001"}}]`))
	if err != nil || len(got) != 1 || got[0].Status != StatusRead || !got[0].At.Equal(time.Unix(1790000001, 0)) {
		t.Errorf("our own names: %+v, %v; want the status read", got, err)
	}
}

func TestThrottlingOfAnotherServiceSlowsDown(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		proof  Proof
		action Action
	}{
		{420, ``, NotSent, Slow}, {420, `{"error":"calm"}`, NotSent, Slow}, {503, `{"error":"too_fast"}`, NotSent, Slow},
		{503, `{"error":"down"}`, Doubt, 0}, {403, ``, NotSent, RetryUnknown},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.Header().Set("X-Wait", "7")
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}))
		_, err := testClient(t, s.URL, Options{Assumed: another}).Send(t.Context(), hello)
		s.Close()
		if e := asWire(t, err); e.Proof != c.proof || e.Action != c.action || e.Wait != 7*time.Second || e.Hold != HoldNothing {
			t.Errorf("%d %s: %s %s %v %s, want %s %s after 7s", c.status, c.body, e.Proof.word(), e.Action.word(), e.Wait, e.Hold.word(),
				c.proof.word(), c.action.word())
		}
	}
}

func TestAssumptionsAreCheckedByName(t *testing.T) {
	if err := another.Validate(); err != nil {
		t.Errorf("another service: %v, want it accepted", err)
	}
	for want, a := range map[string]Assumed{
		"paths":       {NumbersPath: "api/v1/numbers"},
		"lists":       {Lists: map[string]string{"number": "data"}},
		"fields":      {Fields: map[string]string{"numbers.qualty": "q"}},
		"events":      {Events: map[string]string{"dlr": "message.sent"}},
		"timestamps":  {Timestamps: []string{"15:04"}},
		"retry_after": {RetryAfter: "X Wait"},
		"throttled":   {Throttled: []StatusCode{{503, ""}}},
	} {
		if err := a.Validate(); err == nil || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("%+v: %v, want an error of %s", a, err, want)
		}
		if _, err := New(Options{BaseURL: "https://x.example", APIKey: NewSecret("k"), Assumed: a}); err == nil ||
			!strings.HasPrefix(err.Error(), "assumed."+want+": ") {
			t.Errorf("New with %+v: %v, want an error of assumed.%s", a, err, want)
		}
	}
}
