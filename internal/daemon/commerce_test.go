package daemon

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/config"
)

func TestEventsOfThePlatformHaveARoute(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "secrets")
	keep := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep("the first secret of events\n")
	environment := map[string]string{
		"CAMPAIGND_COMMERCE_BASE_URL": "https://api.example.com", "CAMPAIGND_COMMERCE_COMPANY": "acme", "CAMPAIGND_COMMERCE_API_KEY": "k",
		"CAMPAIGND_COMMERCE_WEBHOOKS_SECRETS_FILE": file, "CAMPAIGND_LISTEN_PUBLIC": "127.0.0.1:0",
		"CAMPAIGND_LEDGER": "sqlite:" + filepath.Join(dir, "c.db")}
	cfg, err := config.Load(filepath.Join(dir, "none.yaml"), false, environment)
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(t.Context(), cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	const event = `{"id":"1","type":"order.created","company_id":"acme","data":{}}`
	post := func(path, secret string) int {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(event))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(event))
		r.Header.Set("X-Commerce-Signature", hex.EncodeToString(mac.Sum(nil)))
		w := httptest.NewRecorder()
		d.public.srv.Handler.ServeHTTP(w, r)
		return w.Code
	}
	const path, first, second = "/webhooks/commerce", "the first secret of events", "the second secret of events"
	if taken, forged, elsewhere := post(path, first), post(path, second), post("/webhooks/other", first); taken != 204 || forged != 401 ||
		elsewhere != 404 {
		t.Errorf("got %d, %d with a wrong secret, %d elsewhere; want 204, 401, 404", taken, forged, elsewhere)
	}
	keep(second + "\n")
	now := *cfg
	d.renewSecrets(&now)
	if taken, old := post(path, second), post(path, first); taken != 204 || old != 401 {
		t.Errorf("after a new secret: got %d, and %d with the old one; want 204, 401", taken, old)
	}
	w := httptest.NewRecorder()
	d.metrics(nil).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, result := range []string{"taken", "unsigned"} {
		if want := `campaignd_commerce_events_total{result="` + result + `"} 2`; !strings.Contains(w.Body.String(), want) {
			t.Errorf("got no %s in the metrics, want it", want)
		}
	}
}

func TestWithoutSecretsThereIsNoRoute(t *testing.T) {
	dir := t.TempDir()
	cfg, err := config.Load(filepath.Join(dir, "none.yaml"), false, map[string]string{
		"CAMPAIGND_LISTEN_PUBLIC": "127.0.0.1:0", "CAMPAIGND_LEDGER": "sqlite:" + filepath.Join(dir, "c.db")})
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(t.Context(), cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhooks/commerce", strings.NewReader("{}"))
	d.public.srv.Handler.ServeHTTP(w, r)
	if w.Code != http.StatusNotFound {
		t.Errorf("got %d, want 404", w.Code)
	}
}
