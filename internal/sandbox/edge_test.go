package sandbox

import (
	"io"
	"strings"
	"testing"
)

// Every POST except the upload takes JSON only (docs/service.md#conventions).
func TestRequestsAreJSON(t *testing.T) {
	s := twoClients(t)
	for path, body := range map[string]string{"/api/v1/messages": order, "/api/v1/webhooks": `{"url":"https://x.example/"}`} {
		for contentType, status := range map[string]int{
			"application/json": 200, "Application/JSON; charset=utf-8": 200,
			"": 400, "text/plain": 400, "application/x-www-form-urlencoded": 400, "application/json-patch+json": 400,
		} {
			res := call(t, s, "POST", path, "partner", body, "Content-Type", contentType)
			if res.StatusCode != status {
				t.Errorf("%s as %q: %s, want %d", path, contentType, res.Status, status)
			}
		}
		for name, body := range map[string]string{"huge": `{"x":"` + strings.Repeat("a", maxBody) + `"}`,
			"not UTF-8": "{\"x\":\"\xff\"}", "empty": ""} {
			if code, _ := errorOf(t, call(t, s, "POST", path, "partner", body)); code != "invalid_request" {
				t.Errorf("%s with a body that is %s: code = %s, want invalid_request", path, name, code)
			}
		}
	}
}

// The scope of a key limits lists, ids and billing (docs/service.md#authentication).
func TestAKeyOfOneClientSeesItsOwnRowsOnly(t *testing.T) {
	s := twoClients(t, func(o *Options) {
		o.Templates = append(o.Templates, Template{Name: "theirs", Language: "en_US", Companies: []string{"co_2"}})
	})
	get := func(key, path string) (int, string) {
		res := call(t, s, "GET", path, key, "")
		raw, err := io.ReadAll(res.Body)
		must(t, err)
		return res.StatusCode, string(raw)
	}
	for _, c := range []struct{ key, path, has, lacks string }{
		{"partner", "/api/v1/connections", "conn_9", "conn_x"},
		{"one", "/api/v1/connections", "conn_1", "conn_9"},
		{"two", "/api/v1/connections", "conn_9", "conn_1"},
		{"two", "/api/v1/numbers", "conn_9", "conn_1"},
		{"one", "/api/v1/companies", "co_1", "co_2"},
		{"one", "/api/v1/templates", "spring_sale", "theirs"},
		{"two", "/api/v1/templates?connectionId=conn_9", "theirs", "conn_1"},
	} {
		status, body := get(c.key, c.path)
		if status != 200 || !strings.Contains(body, c.has) || strings.Contains(body, c.lacks) {
			t.Errorf("%s %s = %d %s, want 200 with %s and without %s", c.key, c.path, status, body, c.has, c.lacks)
		}
	}
	if status, body := get("one", "/api/v1/templates?connectionId=conn_9"); status != 404 || !strings.Contains(body, "connection_not_found") {
		t.Errorf("another client's id: %d %s, want 404 connection_not_found", status, body)
	}
	if status, body := get("one", "/api/v1/billing/invoices"); status != 403 || !strings.Contains(body, "partner_key_required") {
		t.Errorf("billing with a client's key: %d %s, want 403 partner_key_required", status, body)
	}
	if status, body := get("partner", "/api/v1/billing/usage"); status != 200 || !strings.Contains(body, "messagesUsed") {
		t.Errorf("billing with a partner-wide key: %d %s, want 200", status, body)
	}
	if status, body := get("partner", "/api/v1/nothing"); status != 404 || !strings.Contains(body, "not_found") {
		t.Errorf("an unknown path: %d %s, want 404 not_found", status, body)
	}
	if res := call(t, s, "DELETE", "/api/v1/connections", "partner", ""); res.StatusCode != 405 {
		t.Errorf("DELETE: %s, want 405", res.Status)
	}
}

// The edge answers 403 with 1010 (docs/service.md#authentication), 301 and 308
// (docs/service.md#conventions).
func TestTheEdgeRefusesBeforeTheService(t *testing.T) {
	s := twoClients(t)
	for _, agent := range []string{"Go-http-client/1.1", "python-requests/2.31", "curl/8.5.0", ""} {
		res := call(t, s, "POST", "/api/v1/messages", "partner", order, "User-Agent", agent)
		raw, err := io.ReadAll(res.Body)
		must(t, err)
		if res.StatusCode != 403 || string(raw) != "error code: 1010" || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("agent %q: answer = %s %q, want 403 error code: 1010 as text/plain", agent, res.Status, raw)
		}
	}
	if res := call(t, twoClients(t, func(o *Options) { o.AllowBots = true }), "POST", "/api/v1/messages",
		"partner", order, "User-Agent", "curl/8"); res.StatusCode != 200 {
		t.Errorf("with bots allowed: %s, want 200", res.Status)
	}
	res := call(t, s, "POST", "/api/v1/messages?x=1", "partner", order, "X-Forwarded-Proto", "http")
	if res.StatusCode != 301 || res.Header.Get("Location") != "https://service.example/api/v1/messages?x=1" {
		t.Errorf("plain http: %s to %q, want 301 to https", res.Status, res.Header.Get("Location"))
	}
	res = call(t, s, "POST", "/api/v1/messages/", "partner", order)
	if res.StatusCode != 308 || res.Header.Get("Location") != "/api/v1/messages" {
		t.Errorf("a slash at the end: %s to %q, want 308 to /api/v1/messages", res.Status, res.Header.Get("Location"))
	}
	if n := len(s.Truth().Messages); n != 0 {
		t.Errorf("%d messages accepted, want none", n)
	}
}
