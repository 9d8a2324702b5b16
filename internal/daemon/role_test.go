package daemon

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
	"campaignd/internal/sandbox"
	"campaignd/throttle/redistest"
)

// serving is a running Serve.
type serving struct {
	public, admin string
	process       operator.Process
	stop          context.CancelFunc
	ended         chan error
}

// serve starts Serve with a role over the ledger roles.db of the cluster.
func (c *cluster) serve(role config.Role) *serving {
	c.Helper()
	cfg := *c.config
	cfg.Role, cfg.Ledger = role, "sqlite:"+filepath.Join(c.dir, "roles.db")
	cfg.Listen = config.Listen{Public: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	cfg.Webhooks.Secrets = []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
	ctx, stop := context.WithCancel(c.Context())
	s := &serving{stop: stop, ended: make(chan error, 1)}
	d, err := New(ctx, &cfg, Options{API: func(ctx context.Context, p operator.Process) (API, error) {
		s.process = p
		return withAPI.API(ctx, p)
	}})
	if err != nil {
		stop()
		c.Fatal(err)
	}
	started := make(chan struct{})
	go func() {
		err := d.Serve(ctx, func(public, admin string) {
			s.public, s.admin = public, admin
			close(started)
		})
		if e := d.Close(); err == nil {
			err = e
		}
		s.ended <- err
	}()
	select {
	case <-started:
	case err := <-s.ended:
		stop()
		c.Fatal(err)
	}
	return s
}

// page reads a page of a listener.
func (c *cluster) page(url string) (int, string) {
	c.Helper()
	r, err := http.Get(url) //nolint:noctx // a loopback address of this test
	if err != nil {
		c.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// An intake takes webhooks and sends nothing. A sender sends and takes no webhooks.
func TestRolesSplitTheWork(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	sender, intake := c.serve(config.RoleSender), c.serve(config.RoleIntake)
	if sender.public != "" {
		t.Errorf("a sender takes webhooks at %s, want nowhere", sender.public)
	}
	if code, _ := c.page(strings.Replace(intake.public, c.config.Webhooks.Path, "/healthz", 1)); code != http.StatusOK {
		t.Errorf("the intake's listener answers %d, want 200", code)
	}
	for _, tt := range []struct {
		s     *serving
		takes bool // webhooks
	}{{sender, false}, {intake, true}} {
		code, page := c.page(tt.s.admin + "/metrics")
		if counts := strings.Contains(page, "campaignd_webhooks_taken_total"); code != http.StatusOK || counts != tt.takes {
			t.Errorf("metrics: got %d, counts webhooks: %v, want 200 and %v", code, counts, tt.takes)
		}
		if code, _ := c.page(tt.s.admin + "/readyz"); code != http.StatusOK {
			t.Errorf("readyz: got %d, want 200", code)
		}
		if p := tt.s.process; (p.Launch == nil) != tt.takes || p.Uploads.Closed != tt.takes {
			t.Errorf("got that it launches %v, and that it takes no upload %v, want %v and %v", p.Launch != nil, p.Uploads.Closed, !tt.takes,
				tt.takes)
		}
	}

	intake.stop()
	if err := <-intake.ended; err != nil {
		t.Error(err)
	}
	sender.stop()
	if err := <-sender.ended; err != nil {
		t.Error(err)
	}
}

// Without the limiter nothing is sent. A process that only sends is not ready then; a process that
// takes webhooks stays ready for them.
func TestReadinessNamesALimiterThatIsAway(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	redis := redistest.Start(t)
	c.config.Redis = redis.URL(0)
	sender, intake := c.serve(config.RoleSender), c.serve(config.RoleIntake)
	for _, s := range []*serving{sender, intake} {
		if code, body := c.page(s.admin + "/readyz"); code != http.StatusOK || strings.TrimSpace(body) != "ok" {
			t.Errorf("with redis: got %d %s, want 200 ok", code, body)
		}
	}
	redis.Kill()
	if code, body := c.page(sender.admin + "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "redis") {
		t.Errorf("a sender without redis: got %d %s, want 503 and redis in it", code, body)
	}
	if code, body := c.page(intake.admin + "/readyz"); code != http.StatusOK || strings.Contains(body, "redis") {
		t.Errorf("an intake without redis: got %d %s, want 200 ok", code, body)
	}
	sender.stop()
	if err := <-sender.ended; err != nil {
		t.Error(err)
	}
	all := c.serve(config.RoleAll)
	code, body := c.page(all.admin + "/readyz")
	if code != http.StatusOK || !strings.Contains(body, "nothing is sent") || !strings.Contains(body, "redis") {
		t.Errorf("a sender that takes webhooks, without redis: got %d %s, want 200, nothing is sent and redis in it", code, body)
	}
	redis.Restart()
	for deadline := time.Now().Add(longWait); ; {
		code, body := c.page(all.admin + "/readyz")
		if code == http.StatusOK && strings.TrimSpace(body) == "ok" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("with redis again: got %d %s, want 200 ok within %v", code, body, longWait)
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, s := range []*serving{all, intake} {
		s.stop()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
	}
}

func TestAnIntakeNeedsNoKeyOfTheService(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	c.config.Service.APIKey = messaging.Secret{}
	c.config.Campaigns = ""
	s := c.serve(config.RoleIntake)
	s.stop()
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	if err := (&config.Config{Role: config.RoleIntake}).CanSend(); err == nil {
		t.Error("CanSend of an intake = nil, want an error")
	}
}

// event posts a signed STOP to a public listener, and returns the answer.
func (c *cluster) event(url string) int {
	c.Helper()
	body := `{"id": "evt_1", "type": "message.received", "createdAt": "2026-11-21T09:00:00Z", "connectionId": "conn_1",
		"data": {"messageId": "wamid.1", "from": "+2348031234567", "timestamp": "2026-11-21T09:00:00Z", "type": "text",
			"text": {"body": "STOP"}}}`
	mac := hmac.New(sha256.New, []byte(sandbox.DemoSecret))
	mac.Write([]byte(body))
	req, err := http.NewRequestWithContext(c.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Service-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	_ = r.Body.Close()
	return r.StatusCode
}

// A process without its ledger says so when it is asked, and no webhook is answered 2xx, because it
// would be lost.
func TestAServeWithoutItsLedgerIsNotReady(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	file := filepath.Join(c.dir, "roles.db")
	for _, role := range []config.Role{config.RoleAll, config.RoleIntake} {
		s := c.serve(role)
		if code, body := c.page(s.admin + "/readyz"); code != http.StatusOK {
			t.Errorf("%s with its ledger: got %d %s, want 200", role, code, body)
		}
		if err := os.Rename(file, file+".old"); err != nil {
			t.Fatal(err)
		}
		if code, body := c.page(s.admin + "/readyz"); code == http.StatusOK || !strings.Contains(body, "was removed or moved while it is open") {
			t.Errorf("%s without its ledger: got %d %s, want another answer than 200 that names the cause", role, code, body)
		}
		if code := c.event(s.public); code != http.StatusServiceUnavailable {
			t.Errorf("%s without its ledger: got %d for a webhook, want 503", role, code)
		}
		if err := os.Rename(file+".old", file); err != nil {
			t.Fatal(err)
		}
		if code, body := c.page(s.admin + "/readyz"); code != http.StatusOK {
			t.Errorf("%s with its ledger again: got %d %s, want 200", role, code, body)
		}
		if code := c.event(s.public); code/100 != 2 {
			t.Errorf("%s with its ledger again: got %d for a webhook, want 2xx", role, code)
		}
		s.stop()
		if err := <-s.ended; err != nil {
			t.Errorf("%s: %v, want no error", role, err)
		}
	}
}
