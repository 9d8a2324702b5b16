package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A secret that is written in the wrong form, place or spelling is in no error.
func TestAnErrorHasNoSecretOfTheConfiguration(t *testing.T) {
	const canary = "hush"
	path := filepath.Join(t.TempDir(), "c.yaml")
	for _, text := range []string{
		"service: {api_key: [hush]}\n", "service: {api_key: {hush: x}}\n", "service: {api_key: {x: hush}}\n", "service: {api-key: hush}\n",
		"service:\n  api_key:\n    - hush\n", "service:\n  api_key:\n    x: hush\n", "service:\n  api_keys: hush\n", "service: {apikey: hush\n",
		"service: {api_key: 'hush}\n", "service: {api_key: \"hush\\q\"}\n", "service: {api_key: &a hush}\n", "service: {api_key: !x hush}\n",
		"service: {api_key: ha hush}\n", "service: {api_key: \"hush\\n\"}\n", "api_key: hush\n", "service: {api_key: *hush}\n",
		"webhooks: {secrets: hush}\n", "webhooks: {secrets: {a: hush}}\n", "webhooks: {secrets: {hush: a}}\n", "webhooks: {secrets: [[hush]]}\n",
		"webhooks: {secrets: [{a: hush}]}\n", "webhooks: {secret: hush}\n", "webhooks:\n  secrets:\n  - [hush]\n",
		"webhooks:\n  secrets:\n  - a: hush\n",
		"webhooks: {secrets: [hush]}\n", "webhooks:\n  secrets: [\n  hush: a]\n", "webhooks: {secrets: [a, \"hush\\q\"]}\n",
		"webhooks:\n\tsecrets: hush\n", "webhooks: {secrets: {hush: a, hush: b}}\n",
		"webhooks: {secrets: [a, hush}\n", "webhooks: {secrets: [a \"hush\"]}\n",
		"ledger: [hush]\n", "ledger: {a: hush}\n", "ledger: hush\n", "ledger: mysql://u:hush@h/x\n", "ledger: 'mysql:hush'\n",
		"redis: hush\n", "redis: default:hush\n", "redis: [hush]\n", "redis: 'redis://:hush'\n",
		"redis: '//u:hush@h'\n", "redis: http://u:hush@h\n",
		"notifications: {ops: {url: [hush]}}\n", "notifications:\n  ops:\n    url: [hush]\n", "notifications: {ops: {url: hush}}\n",
		"notifications: {ops: {url: http://h/hush}}\n", "notifications: {ops: {url: 'https://h/x', secrets: [hush]}}\n",
		"notifications: {ops: {url: 'https://h/x', secrets: [whsec_hush]}}\n", "notifications:\n  ops:\n    url: {hush: x}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, true, nil)
		if err == nil {
			t.Errorf("%q: got no error, want one", text)
		} else if strings.Contains(err.Error(), canary) {
			t.Errorf("%q: got %v, want no word of the secret", text, err)
		}
	}
	for _, name := range []string{"CAMPAIGND_SERVICE_API_KEYS", "CAMPAIGND_LEDGER", "CAMPAIGND_REDIS", "CAMPAIGND_WEBHOOKS_SECRETS",
		"CAMPAIGND_NOTIFICATIONS_OPS_URL"} {
		_, err := Load(filepath.Join(t.TempDir(), "none"), false, map[string]string{name: canary})
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: got %v, want an error without the secret", name, err)
		}
	}
}

func TestADestinationIsGivenByFiles(t *testing.T) {
	url, secret := filepath.Join(t.TempDir(), "url"), filepath.Join(t.TempDir(), "secret")
	for file, text := range map[string]string{url: "https://hooks.example/x\n", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(filepath.Join(t.TempDir(), "none"), false, map[string]string{
		"CAMPAIGND_NOTIFICATIONS_OPS_URL_FILE": url, "CAMPAIGND_NOTIFICATIONS_OPS_SECRETS_FILE": secret})
	if err != nil {
		t.Fatalf("got %v, want the destination", err)
	}
	if n := c.Notifications["ops"]; n.URL.Reveal() != "https://hooks.example/x" || len(n.Secrets) != 1 {
		t.Errorf("got %+v, want the address and one secret", n)
	}
	text, err := c.YAML()
	if err != nil || strings.Contains(string(text), "hooks.example") || strings.Contains(string(text), "whsec_") {
		t.Errorf("got %s, %v; want both as ***", text, err)
	}
}

// The chart's config may not have the address, so the file names the rest of a destination.
func TestADestinationGetsItsAddressFromElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	text := "notifications: {ops-desk: {format: slack, events: [run.finished]}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, true, map[string]string{"CAMPAIGND_NOTIFICATIONS_OPS_DESK_URL": "https://hooks.example/x"})
	if err != nil {
		t.Fatalf("got %v, want the destination", err)
	}
	if n := c.Notifications["ops-desk"]; len(c.Notifications) != 1 || n.URL.Reveal() != "https://hooks.example/x" || n.Format != "slack" {
		t.Errorf("got %+v, want one destination with the address and the format", c.Notifications)
	}
}

func TestAGuessableSigningSecretIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	for text, want := range map[string]string{
		"{secrets: [abcde]}":                                                    "webhooks.secrets[0] has 5 bytes",
		"{secrets: [0123456789abcde]}":                                          "has 15 bytes",
		"{secrets: [0123456789abcdef]}":                                         "",
		"{secrets: [0123456789abcdef, short]}":                                  "webhooks.secrets[1] has 5 bytes",
		"{secrets: [whsec_MDEyMzQ1Njc4OQ==], signature: {secret_base64: true}}": "has 10 bytes",
		"{secrets: [sandbox-secret]}":                                           "",
	} {
		if err := os.WriteFile(path, []byte("webhooks: "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, true, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	text := "service: {base_url: https://api.example.com}\nwebhooks: {secrets: [sandbox-secret]}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, true, nil); err == nil || !strings.Contains(err.Error(), "everybody knows") {
		t.Errorf("the sandbox's secret for another service: got %v, want it refused", err)
	}
}

// A path that the router redirects or never matches would lose every webhook.
func TestAWebhookPathIsReached(t *testing.T) {
	for path, want := range map[string]bool{
		"/webhooks/messaging": true, "/": true, "/hooks/": true, "/ä": true, "/a.b/c-d_e~f": true, "/healthz/x": true,
		"/a//b": false, "//a": false, "/a/../b": false, "/a/./b": false, "/a/..": false, "/a%zz": false,
		"/a%2Fb": true, "/a\x00b": false, "/a\nb": false,
	} {
		w := Default().Webhooks
		w.Path = path
		if err := w.check(); (err == nil) != want {
			t.Errorf("%q: got %v, want it accepted %v", path, err, want)
		}
	}
}
