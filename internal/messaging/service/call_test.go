package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/messaging"
)

// answering returns a client of a service that gives the same answer to every request.
func answering(t *testing.T, status int, body string, o Options) (*Client, *replay) {
	t.Helper()
	r := &replay{response: wireResponse{Status: status, Text: body, Headers: map[string]string{"X-Request-Id": "req_7"}}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return testClient(t, server.URL, o), r
}

// Only Send sends a message. A failure of any other call is never a doubt, and the call can be
// repeated.
func TestACallThatFailsIsNeverDoubt(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   messaging.Error
	}{
		{500, `{"error":"internal_error"}`, messaging.Error{Action: messaging.RetryLater, Status: 500, Code: "internal_error"}},
		{408, ``, messaging.Error{Action: messaging.RetryLater, Status: 408, Code: "http_408"}},
		{401, `{"error":"unauthorized"}`, messaging.Error{Action: messaging.RetryLater, Hold: messaging.HoldKey, Status: 401,
			Code: "unauthorized"}},
		{429, ``, messaging.Error{Action: messaging.Slow, Status: 429, Code: "http_429"}},
		{300, `{"data":[]}`, messaging.Error{Action: messaging.RetryLater, Hold: messaging.HoldKey, Status: 300, Code: "redirect"}},
		{200, `<html>`, messaging.Error{Action: messaging.RetryLater, Status: 200, Code: "bad_answer"}},
		{200, `{"data":[{"id":"conn_1"}`, messaging.Error{Action: messaging.RetryLater, Status: 200, Code: "bad_answer"}},
		{200, `{"data":{"id":"conn_1"}}`, messaging.Error{Action: messaging.RetryLater, Status: 200, Code: "bad_answer"}},
		{200, ``, messaging.Error{Action: messaging.RetryLater, Status: 200, Code: "bad_answer"}},
	} {
		client, _ := answering(t, c.status, c.body, Options{})
		list, err := client.Connections(t.Context())
		e := asWire(t, err)
		got, want := messaging.Error{Proof: e.Proof, Action: e.Action, Hold: e.Hold, Status: e.Status, Code: e.Code}, c.want
		want.Proof = messaging.NotSent
		if got != want || list != nil {
			t.Errorf("%d %q: %v and %+v, want %+v", c.status, c.body, list, got, want)
		}
	}
	client, _ := answering(t, 200, `<html>`, Options{})
	_, err := client.Connections(t.Context())
	if e := asWire(t, err); e.Message != "GET /api/v1/connections: not JSON" || e.RequestID != "req_7" {
		t.Errorf("message %q of request %q, want which call and why, of req_7", e.Message, e.RequestID)
	}
	client, _ = answering(t, 200, `{"data":7}`, Options{})
	_, err = client.Connections(t.Context())
	if e, want := asWire(t, err), "connections (GET /api/v1/connections): the answer holds no list under data"; e.Message != want {
		t.Errorf("message %q, want %q", e.Message, want)
	}
	client, _ = answering(t, 403, `{"error":"forbidden","message":"no such key: key_1"}`, Options{})
	_, err = client.Connections(t.Context())
	if e := asWire(t, err); e.RequestID != "req_7" || e.Message != "no such key: ***" {
		t.Errorf("message %q of request %q, want it without the key, of req_7", e.Message, e.RequestID)
	}
	for _, fault := range []error{io.EOF, &http.MaxBytesError{}} {
		client := testClient(t, "https://service.example",
			Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, fault })})
		_, err := client.Webhooks(t.Context())
		if e := asWire(t, err); e.Proof != messaging.NotSent || e.Action != messaging.RetryLater || !errors.Is(err, fault) {
			t.Errorf("%v: %s %s, want not_sent retry_later", err, fmt.Sprint(e.Proof), fmt.Sprint(e.Action))
		}
	}
}

func TestAListingIsReadWhereverItStands(t *testing.T) {
	for body, want := range map[string]int{
		`{"data":[{"id":"a"},{"id":"b"}]}`: 2,
		`[{"id":"a"}]`:                     1,
		`{"data":[]}`:                      0,
		`{"data":[7,"x",null,{"id":"a"}]}`: 1, // what is no object is no connection
	} {
		client, _ := answering(t, 299, body, Options{})
		got, err := client.Connections(t.Context())
		if err != nil || len(got) != want || want > 0 && got[0].ID != "a" {
			t.Errorf("%s: %v, %v; want %d, the first with id a", body, got, err, want)
		}
	}
}

// Only an endpoint that we assume may be missing. For an endpoint of the document a 404 is a fault.
func TestOnlyAMissingEndpointIsNotOffered(t *testing.T) {
	for status, want := range map[int]bool{404: true, 405: true, 501: true, 403: false, 400: false, 410: false, 500: false} {
		client, _ := answering(t, status, `{"error":"not_found"}`, Options{})
		_, numbers := client.Numbers(t.Context())
		_, templates := client.Templates(t.Context(), "conn_1")
		_, webhooks := client.Webhooks(t.Context())
		_, connections := client.Connections(t.Context())
		for call, err := range map[string]error{"numbers": numbers, "templates": templates, "webhooks": webhooks} {
			if got := errors.Is(err, messaging.ErrNotOffered); err == nil || got != want {
				t.Errorf("%d of %s: not offered = %t (%v), want %t", status, call, got, err, want)
			}
		}
		if connections == nil || errors.Is(connections, messaging.ErrNotOffered) {
			t.Errorf("%d of connections: %v, want an error: the document gives that endpoint", status, connections)
		}
	}
	client, _ := answering(t, 404, `{"error":"connection_not_found"}`, Options{})
	if _, err := client.Templates(t.Context(), "conn_9"); err == nil || errors.Is(err, messaging.ErrNotOffered) {
		t.Errorf("templates of an unknown connection: %v, want an error other than ErrNotOffered", err)
	}
}

func TestWebhookCallsSendAndReadWhatTheySay(t *testing.T) {
	client, server := answering(t, 200,
		`{"data":{"webhookId":"whk_1","endpoint":"https://x.example","signing_secret":"s3cret","eventTypes":["message.status"]}}`, Options{})
	w, err := client.RegisterWebhook(t.Context(), "https://x.example/hook", nil)
	if err != nil || w.ID != "whk_1" || w.URL != "https://x.example" || w.Secret.Reveal() != "s3cret" ||
		!reflect.DeepEqual(w.Events, []string{"message.status"}) {
		t.Errorf("got %+v, %v; want whk_1 with its URL, secret and event", w, err)
	}
	sameJSON(t, "body without events", server.body, []byte(`{"url":"https://x.example/hook"}`))
	if got, want := server.request.Header.Get("Content-Type"), "application/json"; got != want {
		t.Errorf("Content-Type %q, want %q", got, want)
	}
	for address, want := range map[string]bool{
		"https://x.example": true, "http://127.0.0.1:9/h": true, "http://[::1]:9": true,
		"http://a.localhost": true, "http://[::ffff:127.0.0.1]": true,
		"http://x.example": false, "ftp://127.0.0.1": false, "https://": false, "https:///path": false,
		"x.example": false, "http://127.0.0.1.example": false, "https://a b": false,
	} {
		hits := server.hits
		_, err := client.RegisterWebhook(t.Context(), address, nil)
		if (err == nil) != want || (server.hits > hits) != want {
			t.Errorf("%s: %v, %d requests; want registered = %t", address, err, server.hits-hits, want)
		}
	}
	client, server = answering(t, 204, "", Options{Assumed: Assumed{Paths: map[string]string{"webhooks": "/api/v1/hooks"}}})
	if err := client.DeleteWebhook(t.Context(), "whk_1"); err != nil {
		t.Errorf("an empty 204 is %v, want no error", err)
	}
	if got, want := server.request.Method+" "+server.request.URL.Path, "DELETE /api/v1/hooks/whk_1"; got != want || len(server.body) != 0 {
		t.Errorf("got %s with %q, want %s without a body", got, server.body, want)
	}
	for _, id := range []string{"", "a/b", "a?b", "a#b"} {
		hits := server.hits
		if err := client.DeleteWebhook(t.Context(), id); err == nil || server.hits != hits {
			t.Errorf("id %q: %v and %d requests, want an error and none", id, err, server.hits-hits)
		}
	}
	client, server = answering(t, 202, `{"data":{"replayed":"7"}}`,
		Options{Assumed: Assumed{Paths: map[string]string{"webhook_replay": "/api/v1/again"}}})
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	if n, err := client.ReplayWebhooks(t.Context(), at, at.Add(time.Hour)); err != nil || n != 7 ||
		server.request.URL.Path != "/api/v1/again" {
		t.Errorf("a replay: got %d, %v at %s; want 7 at the configured path", n, err, server.request.URL.Path)
	}
	for _, body := range []string{`{"data":{}}`, `{"data":{"deliveries":null}}`, `{"data":{"deliveries":"many"}}`, `{"data":[]}`, ``} {
		client, _ := answering(t, 202, body, Options{})
		if _, err := client.ReplayWebhooks(t.Context(), at, at.Add(time.Hour)); err == nil || !strings.Contains(err.Error(),
			"webhook_replay (POST /api/v1/webhooks/replay): the answer has no field deliveries") {
			t.Errorf("a replay that is answered %s: got %v, want an error with both names", body, err)
		}
	}
	for _, since := range []time.Time{{}, at.Add(time.Hour), at.Add(2 * time.Hour)} {
		hits := server.hits
		if _, err := client.ReplayWebhooks(t.Context(), since, at.Add(time.Hour)); err == nil || server.hits != hits {
			t.Errorf("a replay since %v: %v and %d requests, want an error and none", since, err, server.hits-hits)
		}
	}
	client, _ = answering(t, 404, `{"error":"not_found"}`, Options{})
	if _, err := client.ReplayWebhooks(t.Context(), at, at.Add(time.Hour)); !errors.Is(err, messaging.ErrNotOffered) {
		t.Errorf("a replay of a service without it: %v, want ErrNotOffered", err)
	}
	if err := client.DeleteWebhook(t.Context(), "whk_1"); err == nil {
		t.Error("got no error for a webhook that is not there, want one")
	}
	if w, err := client.RegisterWebhook(t.Context(), "https://x.example", nil); err == nil || w.ID != "" {
		t.Errorf("got %+v, %v of a refusal, want an error", w, err)
	}
}

func TestAnUploadSaysItsLengthWhereItKnowsIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "banner.jpg")
	if err := os.WriteFile(file, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if _, err := opened.Seek(4, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		r    io.Reader
		want string
		told bool
	}{
		{"a buffer", bytes.NewBufferString("abc"), "abc", true},
		{"an empty buffer", bytes.NewReader(nil), "", true},
		{"a file from its middle", opened, "456789", true},
		{"a stream", io.MultiReader(strings.NewReader("abc")), "abc", false},
	} {
		client, server := answering(t, 200, `{"data":{"assetId":"ast_1"}}`, Options{})
		asset, err := client.UploadMedia(t.Context(), "conn_1", "a\"b\\c\r\n.jpg", "image/jpeg", c.r)
		if err != nil || asset.ID != "ast_1" {
			t.Fatalf("%s: %+v, %v; want ast_1", c.name, asset, err)
		}
		if got := server.request.ContentLength == int64(len(server.body)); got != c.told {
			t.Errorf("%s: Content-Length %d of %d bytes, want it told = %t", c.name, server.request.ContentLength, len(server.body), c.told)
		}
		_, params, err := mime.ParseMediaType(server.request.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		parts := multipart.NewReader(bytes.NewReader(server.body), params["boundary"])
		for _, want := range [][3]string{{`form-data; name="connectionId"`, "", "conn_1"},
			{`form-data; name="file"; filename="a%22b\\c%0D%0A.jpg"`, "image/jpeg", c.want}} {
			part, err := parts.NextRawPart()
			if err != nil {
				t.Fatalf("%s: %v, want another part", c.name, err)
			}
			content, _ := io.ReadAll(part)
			if got := [3]string{part.Header.Get("Content-Disposition"), part.Header.Get("Content-Type"), string(content)}; got != want {
				t.Errorf("%s: part %q, want %q", c.name, got, want)
			}
		}
	}
	for given, want := range map[string]string{"": "application/octet-stream",
		"a\nb": "application/octet-stream", "a\rb": "application/octet-stream"} {
		client, server := answering(t, 200, `{"data":{"assetId":"ast_1"}}`, Options{})
		if _, err := client.UploadMedia(t.Context(), "conn_1", "a", given, strings.NewReader("x")); err != nil ||
			!bytes.Contains(server.body, []byte("Content-Type: "+want+"\r\n")) {
			t.Errorf("type %q: %v, sent\n%s\nwant %s", given, err, server.body, want)
		}
	}
	client, _ := answering(t, 200, `{"data":{"url":"x"}}`, Options{})
	_, err = client.UploadMedia(t.Context(), "conn_1", "a", "image/jpeg", strings.NewReader("x"))
	if e := asWire(t, err); e.Code != "bad_answer" || e.Proof != messaging.NotSent || e.Action != messaging.RetryLater || e.Status != 200 ||
		e.Message != "media (POST /api/v1/media): the answer holds no assetId" {
		t.Errorf("no asset: %+v, want bad_answer of 200 that says so and may be tried later", e)
	}
}

// Each call has its own timeout. An earlier deadline of the caller wins.
func TestEveryCallEndsAtItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		calls := map[string]func(context.Context, *Client) error{
			"send":   func(ctx context.Context, c *Client) error { _, err := c.Send(ctx, hello); return err },
			"list":   func(ctx context.Context, c *Client) error { _, err := c.Numbers(ctx); return err },
			"delete": func(ctx context.Context, c *Client) error { return c.DeleteWebhook(ctx, "whk_1") },
			"upload": func(ctx context.Context, c *Client) error {
				_, err := c.UploadMedia(ctx, "conn_1", "a", "", strings.NewReader("x"))
				return err
			},
		}
		for _, c := range []struct {
			call           string
			timeout, given time.Duration
			want           time.Duration
		}{
			{"send", 0, 0, 10 * time.Second}, {"send", 3 * time.Second, 0, 3 * time.Second},
			{"send", 0, time.Second, time.Second}, {"send", 0, time.Minute, 10 * time.Second},
			{"list", 0, 0, 10 * time.Second}, {"delete", 0, 0, 10 * time.Second}, {"upload", 3 * time.Second, 0, 2 * time.Minute},
		} {
			ctx := t.Context()
			if c.given > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.given)
				defer cancel()
			}
			began := time.Now()
			err := calls[c.call](ctx, testClient(t, "https://service.example", Options{Timeout: c.timeout, Transport: silent}))
			if took := time.Since(began); took != c.want || asWire(t, err).Code != "time_out" {
				t.Errorf("%s, Timeout %v, deadline %v: ended after %v with %v, want time_out after %v", c.call, c.timeout, c.given, took, err, c.want)
			}
		}
		began := time.Now()
		client := testClient(t, "https://service.example", Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"data":{"assetId":"ast_1"}}`))}, nil
		})})
		asset, err := client.UploadMedia(t.Context(), "conn_1", "a", "", strings.NewReader("x"))
		if want := began.Add(30 * 24 * time.Hour); err != nil || !asset.ExpiresAt.Equal(want) {
			t.Errorf("the asset expires at %v (%v), want %v: 30 days after the upload", asset.ExpiresAt, err, want)
		}
	})
}
