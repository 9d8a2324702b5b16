package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/sandbox/inprocess"
)

// scene is a sandbox in a bubble with an endpoint for its webhooks.
type scene struct {
	s      *Sandbox
	client *http.Client
	hook   *hook
	key    string
}

// bubble calls run with a scene in a synctest bubble, whose sandbox has the options.
func bubble(t *testing.T, o Options, run func(*testing.T, *scene), changes ...func(*Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		for _, change := range changes {
			change(&o)
		}
		h := &hook{}
		in := inprocess.NewTransport(h)
		if o.WebhookURL == "" {
			o.WebhookURL = "http://hooks.example/webhooks/messaging"
		}
		if o.Transport == nil {
			o.Transport = in
		}
		s, err := New(o)
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		out := inprocess.NewTransport(s)
		key := DemoKey
		if len(o.Keys) > 0 {
			key = o.Keys[0].Token
		}
		defer func() { // also after t.Fatal: a bubble must end
			cancel()
			_ = s.Close()
			wg.Wait()
			out.Wait()
			in.Wait()
		}()
		synctest.Wait() // Run has begun
		run(t, &scene{s: s, client: &http.Client{Transport: out,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, hook: h, key: key})
	})
}

// delivery is a webhook as it arrived.
type delivery struct {
	at        time.Time
	body      []byte
	signature string
}

// hook is an endpoint for webhooks. It answers by status, or 200 if status is nil.
type hook struct {
	mu     sync.Mutex
	got    []delivery
	status func(n int, d delivery) int // n counts from 1
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	h.mu.Lock()
	d := delivery{time.Now(), body, r.Header.Get("X-Service-Signature")}
	h.got = append(h.got, d)
	n, status := len(h.got), 200
	if h.status != nil {
		status = h.status(n, d)
	}
	h.mu.Unlock()
	w.WriteHeader(status)
}

func (h *hook) deliveries() []delivery {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]delivery(nil), h.got...)
}

func (h *hook) last(t *testing.T) delivery {
	t.Helper()
	all := h.deliveries()
	if len(all) == 0 {
		t.Fatal("no webhook came, want one")
	}
	return all[len(all)-1]
}

// statuses returns the statuses that came, in order: those of the message id, or all if id is
// empty.
func (h *hook) statuses(id string) []string {
	var out []string
	for _, d := range h.deliveries() {
		var e struct {
			Data struct{ MessageID, Status string }
		}
		if json.Unmarshal(d.body, &e) == nil && e.Data.Status != "" && (id == "" || e.Data.MessageID == id) {
			out = append(out, e.Data.Status)
		}
	}
	return out
}

// post sends a body to POST /api/v1/messages.
func (c *scene) post(t *testing.T, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://service.example/api/v1/messages", strings.NewReader(body))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "scene/1.0")
	return c.client.Do(req)
}

// send sends a template with its body values.
func (c *scene) send(t *testing.T, conn, to, template string, values ...string) *http.Response {
	t.Helper()
	res, err := c.post(t, templateBody(conn, to, template, values...))
	must(t, err)
	raw, err := io.ReadAll(res.Body)
	must(t, err)
	must(t, res.Body.Close())
	res.Body = io.NopCloser(bytes.NewReader(raw))
	return res
}

func templateBody(conn, to, template string, values ...string) string {
	raw, err := json.Marshal(map[string]any{"connectionId": conn, "to": to,
		"template": map[string]any{"name": template, "language": "en_US", "body": append([]string{}, values...)}})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// messageID reads data.messageId.
func messageID(t *testing.T, res *http.Response) string {
	t.Helper()
	var v struct {
		Data struct{ MessageID string }
	}
	must(t, json.NewDecoder(res.Body).Decode(&v))
	if v.Data.MessageID == "" {
		t.Fatalf("%s without a messageId, want one", res.Status)
	}
	return v.Data.MessageID
}

// errorOf reads error and meta.code.
func errorOf(t *testing.T, res *http.Response) (string, int) {
	t.Helper()
	var v struct {
		Error string
		Meta  struct{ Code int }
	}
	must(t, json.NewDecoder(res.Body).Decode(&v))
	return v.Error, v.Meta.Code
}

func (c *scene) settle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 48*time.Hour)
	defer cancel()
	must(t, c.s.Settle(ctx))
}
