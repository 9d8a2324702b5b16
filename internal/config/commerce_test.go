package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/commerce"
)

const platform = "base_url: https://api.example.com, company: 01J0000000000000000000ACME"

func TestThePlatformsFaultsAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	for text, want := range map[string]string{
		"{}":                                  "",
		"{" + platform + ", api_key: k}":      "",
		"{" + platform + ", access_token: k}": "",
		"{" + platform + ", client_id: a, client_secret: s}": "",
		"{company: a}":                                                         "commerce.base_url: missing",
		"{api_key: hush}":                                                      "commerce.base_url: missing",
		"{base_url: 'https://a', api_key: k}":                                  "commerce.company: missing",
		"{" + platform + "}":                                                   "commerce.api_key: give one of",
		"{" + platform + ", client_id: a}":                                     "client_id and client_secret belong together",
		"{" + platform + ", client_secret: a}":                                 "client_id and client_secret belong together",
		"{" + platform + ", api_key: k, access_token: t}":                      "commerce.api_key: give one of",
		"{" + platform + ", api_key: 'hush hush'}":                             "commerce.api_key: holds a blank",
		"{base_url: 'http://api.example.com', company: a, api_key: k}":         "commerce.base_url: \"http://api.example.com\" is not https",
		"{base_url: 'https://api.example.com/v1', company: a, api_key: k}":     "holds more than scheme and host",
		"{base_url: 'https://u:hush@api.example.com', company: a, api_key: k}": "commerce.base_url: holds a user name",
		"{base_url: 'https://a', company: '../x', api_key: k}":                 "commerce.company: \"../x\" is not an id",
		"{base_url: 'http://127.0.0.1:8090', company: a, api_key: k}":          "",
		"{rate: 0}":                               "commerce.rate: 0 is out of bounds",
		"{rate: 1001}":                            "commerce.rate: 1001 is out of bounds",
		"{timeout: 1ms}":                          "commerce.timeout: 1ms is out of bounds",
		"{assumed: {orders_path: orders}}":        `commerce.assumed.orders_path: "orders" is not a path`,
		"{poll: 9s}":                              "commerce.poll: 9s is out of bounds",
		"{poll: 25h}":                             "commerce.poll:",
		"{assumed: {page_size: 1001}}":            "commerce.assumed.page_size: 1001 is out of bounds",
		"{assumed: {company_header: 'a b'}}":      "commerce.assumed.company_header: \"a b\" is not the name of a header",
		"{assumed: {search_filter: 'a=b'}}":       "commerce.assumed.search_filter: \"a=b\" is not the name of a parameter",
		"{webhooks: {path: /webhooks/messaging}}": "commerce.webhooks.path: \"/webhooks/messaging\" is webhooks.path too",
		"{webhooks: {path: /healthz}}":            "commerce.webhooks.path: /healthz is taken",
		"{" + platform + ", api_key: k, webhooks: {secrets: [hush]}}":             "commerce.webhooks.secrets[0] has 4 bytes",
		"{" + platform + ", api_key: k, webhooks: {secrets: [0123456789abcdef]}}": "",
	} {
		if err := os.WriteFile(path, []byte("commerce: "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, true, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: got %v, want no word of the secret", text, err)
		}
	}
	text := "service: {base_url: https://api.example.com}\ncommerce: {" + platform + ", api_key: k, webhooks: {secrets: [0123456789abcdef]}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, true, nil); err == nil || !strings.Contains(err.Error(), "needs webhooks.secrets too") {
		t.Errorf("events without the listener: got %v, want it refused", err)
	}
}

func TestTheTokenIsReadFromItsFile(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("app-secret-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(filepath.Join(dir, "none"), false, map[string]string{
		"CAMPAIGND_COMMERCE_BASE_URL": "https://api.example.com", "CAMPAIGND_COMMERCE_COMPANY": "a", "CAMPAIGND_COMMERCE_CLIENT_ID": "app-1",
		"CAMPAIGND_COMMERCE_CLIENT_SECRET_FILE": secret, "CAMPAIGND_LEDGER": "sqlite:" + filepath.Join(dir, "c.db"),
		"CAMPAIGND_COMMERCE_ASSUMED_PAGE_SIZE": "50"})
	if err != nil || c.Commerce.ClientSecret.Reveal() != "app-secret-0123456789" || c.Commerce.Assumptions().PageSize != 50 {
		t.Fatalf("got %+v, %v; want the secret of the file and pages of 50", c, err)
	}
	if got, want := c.CommerceToken(), filepath.Join(dir, "c.db.commerce-token"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.DataDir = dir
	if got, want := c.CommerceToken(), filepath.Join(dir, "commerce.token"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.Ledger, c.DataDir = "postgres://h/d", ""
	if got := c.CommerceToken(); got != "" {
		t.Errorf("got %s, want no file without a folder", got)
	}
	c.DataDir = dir
	if _, err := NewCommerce(c, nil); err == nil || !strings.Contains(err.Error(), string(commerce.CodeNotConnected)) {
		t.Errorf("without the file: got %v, want not_connected", err)
	}
	if err := commerce.KeepToken(c.CommerceToken(), c.Commerce.ClientSecret); err != nil {
		t.Fatal(err)
	}
	if _, err := NewCommerce(c, nil); err != nil {
		t.Errorf("with the file: got %v, want a client", err)
	}
	text, err := c.YAML()
	if err != nil || strings.Contains(string(text), "app-secret") || !strings.Contains(string(text), "client_secret: '***'") &&
		!strings.Contains(string(text), "client_secret: \"***\"") && !strings.Contains(string(text), "client_secret: ***") {
		t.Errorf("got %s, %v; want the secret as ***", text, err)
	}
}
