package daemon

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/internal/config"
)

// An app secret and a verify token that are changed in their files count without a restart, and the
// ones before do not.
func TestAChangedAppSecretCounts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"token": "t", "app": "the-first-app-secret", "verify": "first-word", "c.yaml": `
cloud: {base_url: "http://127.0.0.1:1", accounts: [{id: "200000000000001", token_file: ` + filepath.Join(dir, "token") +
		`, app_secret_file: ` + filepath.Join(dir, "app") + `, verify_token_file: ` + filepath.Join(dir, "verify") + `}]}
listen: {public: "127.0.0.1:0"}
ledger: sqlite:` + filepath.Join(dir, "c.db")} {
		write(name, text)
	}
	cfg, err := config.Load(filepath.Join(dir, "c.yaml"), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(t.Context(), cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.watchSecrets(ctx) })
	running.Go(func() { _ = d.intake.Run(ctx) })
	defer running.Wait()
	defer stop()
	// The body has no event, so that its answer tells of the signature alone.
	posted := func(secret string) int {
		const body = `{"object":"whatsapp_business_account","entry":[]}`
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		w := httptest.NewRecorder()
		d.intake.ServeHTTP(w, r)
		return w.Code
	}
	challenged := func(word string) int {
		w := httptest.NewRecorder()
		d.intake.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?hub.mode=subscribe&hub.challenge=1&hub.verify_token="+word, nil))
		return w.Code
	}
	eventually := func(what string, get func() int, want int) {
		t.Helper()
		got := 0
		for end := time.Now().Add(longWait); got != want; time.Sleep(20 * time.Millisecond) {
			if got = get(); time.Now().After(end) {
				t.Fatalf("%s: got %d for %v, want %d", what, got, longWait, want)
			}
		}
	}
	eventually("the first secret", func() int { return posted("the-first-app-secret") }, http.StatusNoContent)
	write("app", "the-other-app-secret")
	eventually("the other secret", func() int { return posted("the-other-app-secret") }, http.StatusNoContent)
	if got := posted("the-first-app-secret"); got != http.StatusUnauthorized {
		t.Errorf("the first secret after the change: got %d, want 401", got)
	}
	write("verify", "other-word")
	eventually("the other word", func() int { return challenged("other-word") }, http.StatusOK)
	if got := challenged("first-word"); got != http.StatusForbidden {
		t.Errorf("the first word after the change: got %d, want 403", got)
	}
	write("app", "")
	eventually("an empty file", func() int { return posted("the-other-app-secret") }, http.StatusNoContent)
}
