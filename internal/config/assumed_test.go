package config

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
)

const anotherService = `service:
  api_key: key_1
  assumed:
    paths: {connections: /v2/senders, numbers: /v2/health, templates: /v2/models, media: /v2/files, webhooks: /v2/hooks,
      webhook_replay: /v2/again, template_edit: "POST /v2/tpl/{id}"}
    retry_after: X-Wait
    throttled: [{status: 503, error: too_fast}]
`

// Each key of service.assumed reaches the client.
func TestEachAssumptionIsObeyed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(anotherService), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file, true, map[string]string{"CAMPAIGND_SERVICE_ASSUMED_PATHS_NUMBERS": "/v2/state"})
	if err != nil {
		t.Fatal(err)
	}
	got := c.Service.Assumptions()
	want := service.Assumed{
		Paths: map[string]string{"connections": "/v2/senders", "numbers": "/v2/state", "templates": "/v2/models", "media": "/v2/files",
			"webhooks": "/v2/hooks", "webhook_replay": "/v2/again", "template_edit": "POST /v2/tpl/{id}"},
		RetryAfter: "X-Wait",
		Throttled:  []messaging.StatusCode{{Status: 503, Code: "too_fast"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	all := reflect.ValueOf(got)
	for i := range all.NumField() {
		if all.Field(i).IsZero() {
			t.Errorf("%s is zero, want the configured value", all.Type().Field(i).Name)
		}
	}
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		io.WriteString(w, `{"data":[{"connectionId":"conn_1"}]}`)
	}))
	defer server.Close()
	c.Service.BaseURL = server.URL
	client, err := NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := client.Numbers(t.Context()); err != nil || len(list) != 1 || asked != "/v2/state" {
		t.Errorf("numbers of %s: %v, %v; want one of /v2/state", asked, list, err)
	}
}

func TestAWrongAssumptionIsNamedByItsKey(t *testing.T) {
	for text, want := range map[string]string{
		"paths: {numbers: numbers}":              `service.assumed.paths: "numbers" is not a path`,
		"retry_after: 'X Wait'":                  `service.assumed.retry_after: "X Wait" is not`,
		"throttled: [{status: 503}]":             "service.assumed.throttled: give a status",
		"throttled: [{status: 399, error: x}]":   "service.assumed.throttled: give a status",
		"paths: {numbrs: /api}":                  "c.yaml:3:13: unknown key \"service.assumed.paths.numbrs\"; did you mean \"numbers\"?",
		"paths: {template_edit: 'tpl/{id}'}":     `service.assumed.paths: "tpl/{id}" is not a path`,
		"paths: {template_edit: /v2/tpl}":        "has not the 1 variable segments",
		"paths: {numbers: 'FETCH /v2/numbers'}":  "begins with no method",
		"paths: {numbers: [a]}":                  "want a single value here, not a list",
		"throttled: [{status: 503, eror: busy}]": "unknown key \"service.assumed.throttled[0].eror\"",
	} {
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte("service:\n  assumed:\n    "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file, true, noEnv); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if _, err := Load("none", false, map[string]string{"CAMPAIGND_SERVICE_ASSUMED_PATHS_NUMBRS": "x"}); err == nil {
		t.Error("a variable of an unknown path: got no error, want one: it names no key")
	}
}
