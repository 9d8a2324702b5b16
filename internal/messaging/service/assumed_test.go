package service

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

// another is a service that differs from every assumption.
var another = Assumed{
	Paths: map[string]string{"connections": "/v2/senders", "numbers": "/v2/health", "templates": "/v2/models", "media": "/v2/files",
		"webhooks": "/v2/hooks", "webhook_replay": "/v2/again"},
	RetryAfter: "X-Wait",
	Throttled:  []messaging.StatusCode{{Status: 420, Code: ""}, {Status: 503, Code: "too_fast"}},
}

func TestEachPathOfAnotherServiceIsAsked(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		io.WriteString(w, `{"data":{"assetId":"a1","id":"h1"}}`)
	}))
	defer server.Close()
	c, ctx := testClient(t, server.URL, Options{Assumed: another}), t.Context()
	c.Connections(ctx)
	c.Numbers(ctx)
	c.Templates(ctx, "s1")
	c.UploadMedia(ctx, "s1", "a.png", "image/png", strings.NewReader("x"))
	c.RegisterWebhook(ctx, "https://me.example/in", nil)
	c.Webhooks(ctx)
	c.DeleteWebhook(ctx, "h1")
	c.ReplayWebhooks(ctx, time.Unix(1790000000, 0), time.Unix(1790000600, 0))
	want := []string{"GET /v2/senders", "GET /v2/health", "GET /v2/models?connectionId=s1", "POST /v2/files", "POST /v2/hooks",
		"GET /v2/hooks",
		"DELETE /v2/hooks/h1", "POST /v2/again"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestThrottlingOfAnotherServiceSlowsDown(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		proof  messaging.Proof
		action messaging.Action
	}{
		{420, ``, messaging.NotSent, messaging.Slow}, {420, `{"error":"calm"}`, messaging.NotSent, messaging.Slow}, {503,
			`{"error":"too_fast"}`, messaging.NotSent, messaging.Slow},
		{503, `{"error":"down"}`, messaging.Doubt, 0}, {403, ``, messaging.NotSent, messaging.RetryUnknown},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.Header().Set("X-Wait", "7")
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}))
		_, err := testClient(t, s.URL, Options{Assumed: another}).Send(t.Context(), hello)
		s.Close()
		if e := asWire(t, err); e.Proof != c.proof || e.Action != c.action || e.Wait != 7*time.Second || e.Hold != messaging.HoldNothing {
			t.Errorf("%d %s: %s %s %v %s, want %s %s after 7s", c.status, c.body, fmt.Sprint(e.Proof), fmt.Sprint(e.Action), e.Wait,
				fmt.Sprint(e.Hold),
				fmt.Sprint(c.proof), fmt.Sprint(c.action))
		}
	}
}

func TestAssumptionsAreCheckedByName(t *testing.T) {
	if err := another.Validate(); err != nil {
		t.Errorf("another service: %v, want it accepted", err)
	}
	for want, a := range map[string]Assumed{
		"paths":       {Paths: map[string]string{"numbers": "api/v1/numbers"}},
		"retry_after": {RetryAfter: "X Wait"},
		"throttled":   {Throttled: []messaging.StatusCode{{Status: 503, Code: ""}}},
	} {
		if err := a.Validate(); err == nil || !strings.HasPrefix(err.Error(), want+": ") {
			t.Errorf("%+v: %v, want an error of %s", a, err, want)
		}
		if _, err := New(Options{BaseURL: "https://x.example", APIKey: messaging.NewSecret("k"), Assumed: a}); err == nil ||
			!strings.HasPrefix(err.Error(), "assumed."+want+": ") {
			t.Errorf("New with %+v: %v, want an error of assumed.%s", a, err, want)
		}
	}
}
