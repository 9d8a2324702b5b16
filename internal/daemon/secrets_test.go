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
	"sync"
	"testing"
	"time"

	"campaignd/internal/config"
)

// A key or a secret that is rotated in its file counts without a restart.
func TestSecretsInFilesAreReadAgain(t *testing.T) {
	var asked sync.Map // keys that the service was asked with
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Header.Get("Authorization"), true)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer service.Close()
	dir := t.TempDir()
	key, secrets := filepath.Join(dir, "key"), filepath.Join(dir, "secrets")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write(key, "first-key\n")
	write(secrets, "the first secret of 32 characters\n")
	cfg, err := config.Load(filepath.Join(dir, "none.yaml"), false, map[string]string{
		"CAMPAIGND_SERVICE_BASE_URL": service.URL, "CAMPAIGND_SERVICE_API_KEY_FILE": key, "CAMPAIGND_WEBHOOKS_SECRETS_FILE": secrets,
		"CAMPAIGND_LISTEN_PUBLIC": "127.0.0.1:0", "CAMPAIGND_LEDGER": "sqlite:" + filepath.Join(dir, "c.db")})
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(t.Context(), cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { d.watchSecrets(ctx) })
	defer watching.Wait()
	defer stop()
	verified := func(secret string) bool {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte("{}"))
		_, err := d.verifier.Verify(http.Header{"X-Service-Signature": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}, []byte("{}"), time.Now())
		return err == nil
	}
	origin := d.directory.Origin("conn_1").Key
	asksWith := func(bearer string) bool {
		asked.Clear()
		_, _ = d.client.Connections(t.Context()) // it is refused
		_, ok := asked.Load("Bearer " + bearer)
		return ok
	}
	if !asksWith("first-key") || !verified("the first secret of 32 characters") {
		t.Fatal("before the change: got another key or secret, want those of the files")
	}
	eventually := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(longWait); !ok(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("got nothing within %v, want that %s", longWait, what)
			}
		}
	}
	write(secrets, "the other secret of 32 characters\nthe first secret of 32 characters\n")
	eventually("both secrets count", func() bool { return verified("the other secret of 32 characters") })
	if !verified("the first secret of 32 characters") || !asksWith("first-key") || d.directory.Origin("conn_1").Key != origin {
		t.Error("after the first change: got another key or one secret, want both secrets and the first key")
	}
	now := *cfg
	write(key, "no key has spaces\n")
	d.renewSecrets(&now)
	if !asksWith("first-key") {
		t.Error("after a key that is none: got another key, want the last good one")
	}
	write(key, "other-key\n")
	write(secrets, "the other secret of 32 characters\n")
	eventually("the other key counts", func() bool { return asksWith("other-key") })
	eventually("the first secret does not count", func() bool { return !verified("the first secret of 32 characters") })
	if d.directory.Origin("conn_1").Key == origin {
		t.Error("the holds of the first key: got them for the other key too, want them for the first alone")
	}
}
