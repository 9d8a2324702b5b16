package daemon

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// The body of a webhook is still coming when the end begins. The webhook is stored and answered,
// because the intake ends after the listener.
func TestTheEndStoresAWebhookThatIsStillComing(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	cfg := *c.config
	cfg.Ledger = "sqlite:" + filepath.Join(c.dir, "end.db")
	cfg.Listen = config.Listen{Public: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	cfg.Webhooks.Secrets = []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
	d, err := New(t.Context(), &cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
	}()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.send(ctx, nil) }()

	body := `{"id": "evt_1", "type": "message.received", "createdAt": "2026-11-21T09:00:00Z", "connectionId": "conn_1",
		"data": {"messageId": "wamid.1", "from": "+2348031234567", "timestamp": "2026-11-21T09:00:00Z", "type": "text",
			"text": {"body": "STOP"}}}`
	mac := hmac.New(sha256.New, []byte(sandbox.DemoSecret))
	mac.Write([]byte(body))
	at, err := url.Parse(d.PublicURL())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nX-Service-Signature: sha256=%s\r\n"+
		"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", at.Path, at.Host, hex.EncodeToString(mac.Sum(nil)), len(body))
	answers := bufio.NewReader(conn)
	// The handler answers 100 when it begins to read the body.
	if line, err := answers.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q and %v, want 100 Continue", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	end()
	for { // wait until the listener is closed
		probe, err := net.Dial("tcp", at.Host)
		if err != nil {
			break
		}
		_ = probe.Close()
	}
	fmt.Fprint(conn, body)
	res, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		t.Errorf("the webhook is answered %d, want 2xx", res.StatusCode)
	}
	if err := <-ended; err != nil {
		t.Errorf("send = %v, want nil", err)
	}
	var stopped []string
	for s, err := range d.ledger.Suppressions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		stopped = append(stopped, s.To)
	}
	if got := fmt.Sprint(stopped); got != "[+2348031234567]" {
		t.Errorf("suppressed: got %s, want the sender of STOP, [+2348031234567]", got)
	}
	if judged, left, err := d.ledger.AttributeResponses(t.Context(), 10); err != nil || judged+left != 0 {
		t.Errorf("%d and %d opt-outs wait for their message, %v; want none, because the end attributed them", judged, left, err)
	}
}

// The lost time begins just before the newest record of a sender, or --lost ago if that is earlier.
func TestTheLostTimeBeginsWithTheNewestRecord(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	cfg := *c.config
	cfg.Ledger, cfg.Campaigns = "sqlite:"+filepath.Join(c.dir, "c.db"), t.TempDir()
	quarantine := func(lost time.Duration) (Quarantined, time.Time) {
		t.Helper()
		q, err := Quarantine(t.Context(), &cfg, QuarantineOptions{Lost: lost, Ahead: 7, Force: true, DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		return q, time.Now()
	}
	near := func(what string, got, want time.Time) {
		t.Helper()
		if off := want.Sub(got); off < 0 || off > 10*time.Second {
			t.Errorf("%s: since %v, want just before %v", what, got, want)
		}
	}
	q, now := quarantine(time.Hour)
	near("an empty ledger", q.Since, now.Add(-time.Hour-replayBefore))
	if !q.Newest.IsZero() || q.Ahead != 7 || q.WentBack || q.Done || !q.DryRun {
		t.Errorf("an empty ledger: got %+v, want no newest record, 7 ahead, and nothing done", q)
	}
	if err := c.ledger.ReportLanes(t.Context(), "sender", nil); err != nil {
		t.Fatal(err)
	}
	q, now = quarantine(0)
	near("a sender reported", q.Newest, now)
	near("nothing lost", q.Since, q.Newest.Add(-replayBefore))
	q, now = quarantine(time.Hour)
	near("an hour lost", q.Since, now.Add(-time.Hour-replayBefore))
}

func TestADryRunOfAQuarantineCountsAndChangesNothing(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	cfg := *c.config
	cfg.Ledger, cfg.Campaigns = "sqlite:"+filepath.Join(c.dir, "c.db"), t.TempDir()
	c.interrupted("spring", 100) // 50 of the rows are in the ledger
	for _, tt := range []struct {
		dry    bool
		doubts int64
		runs   string
	}{
		{true, 7, "[{spring-1 importing  0 50 7 0}]"},
		{true, 7, "[{spring-1 importing  0 50 7 0}]"},
		{false, 7, "[{spring-1 importing  7 43 7 0}]"},
	} {
		q, err := Quarantine(t.Context(), &cfg, QuarantineOptions{Lost: time.Second, Ahead: 7, Force: true, DryRun: tt.dry})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(q.Runs); q.Doubts != tt.doubts || got != tt.runs || q.Done == tt.dry {
			t.Errorf("dry run %v: %d doubts and %s, done %v, want %d and %s", tt.dry, q.Doubts, got, q.Done, tt.doubts, tt.runs)
		}
	}
}
