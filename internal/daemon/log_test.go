package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// logLines is a log of JSON that a test reads while it is written.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logLines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.text.String()), "\n")
}

var (
	longDigits = regexp.MustCompile(`[0-9]{8,}`)
	messageIDs = regexp.MustCompile(`wamid\.[A-Za-z0-9+/=_-]+`)
)

// A run with recipients that are suppressed, erased, refused, unreachable and opt out, beside
// events that are forged and unreadable and an address that takes no notification: the log at level
// debug contains nothing that is secret or that can be called, and each line about the run has its
// key.
func TestEachLogLineNamesItsRunAndNobody(t *testing.T) {
	t.Parallel() // it waits
	lines := &logLines{}
	c := newCluster(t, "STANDARD", 15*time.Second)
	c.log = slog.New(slog.NewJSONHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	deaf := httptest.NewServer(http.NotFoundHandler())
	defer deaf.Close()
	const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	c.config.Notifications = map[string]config.Notification{"desk": {URL: messaging.NewSecret(deaf.URL + "/hush-path"),
		Secrets: []messaging.Secret{messaging.NewSecret(hookSecret)}}}
	soon := sandbox.Delay{Median: time.Millisecond, Sigma: 0.1}
	d, _ := c.live(t.Context(), func(o *sandbox.Options) {
		o.Statuses = sandbox.StatusProfile{Sent: soon, Delivered: soon, Read: soon, Unreachable: 0.1, Stop: 0.2, StopAfter: soon,
			Failed: []sandbox.Failure{{Code: 131050, Share: 0.1, After: soon}}}
	})
	file := c.campaign(t.TempDir(), "canary", "", 90)
	number := func(row int) int64 { return 2348030000000 + int64(c.first+row) }
	if _, err := d.ledger.Suppress(t.Context(), []campaign.Suppression{{Key: number(1), To: fmt.Sprintf("+%d", number(1)),
		Scope: campaign.ScopeAll, Source: "operator"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ledger.Erase(t.Context(), number(2)); err != nil {
		t.Fatal(err)
	}
	forged := func(signature string) {
		body := fmt.Sprintf(`{"id": "evt_f", "type": "message.received", "data": {"from": "+%d", "text": {"body": "STOP"}}}`, number(3))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.PublicURL(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Service-Signature", signature)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := d.RunCampaign(t.Context(), RunOptions{File: file, Settle: 2 * time.Second})
		ended <- err
	}()
	forged(strings.Repeat("0", 64))
	if err := <-ended; err != nil {
		t.Fatalf("the run: %v; want no error", err)
	}
	if _, err := d.ledger.Erase(t.Context(), number(4)); err != nil {
		t.Fatal(err)
	}
	runs, err := d.ledger.Runs(t.Context(), campaign.RunFilter{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs: %v, %v; want one", runs, err)
	}
	judgeLog(t, lines.all(), runs[0].ID(), sandbox.DemoKey, sandbox.DemoSecret, hookSecret, strings.TrimPrefix(hookSecret, "whsec_"),
		"hush-path")
}

// judgeLog judges each line, and requires that the log has lines of both levels about the run.
func judgeLog(t *testing.T, lines []string, run string, secrets ...string) {
	t.Helper()
	about := map[string]int{}
	for _, line := range lines {
		var of map[string]any
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			t.Errorf("not JSON: %s", line)
			continue
		}
		level, message := fmt.Sprint(of[slog.LevelKey]), fmt.Sprint(of[slog.MessageKey])
		delete(of, slog.TimeKey)
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if strings.Contains(line, s) {
				t.Errorf("%q is in the line %s; want no secret", s, line)
			}
		}
		if found := append(longDigits.FindAllString(string(text), -1), messageIDs.FindAllString(string(text), -1)...); len(found) > 0 {
			t.Errorf("%q can be called, in the line %s; want it masked", found, line)
		}
		if level != slog.LevelDebug.String() && strings.Contains(string(text), "•••") {
			t.Errorf("level %s has a masked number: %s; want it at DEBUG alone", level, line)
		}
		kind, _ := of["kind"].(string) // of a notification
		if strings.Contains(string(text), run) || strings.HasPrefix(message, "run ") || strings.HasPrefix(kind, "run.") {
			if about[level]++; of["run"] != run {
				t.Errorf("a line about %s has the key run %v: %s; want %s", run, of["run"], line, run)
			}
		}
	}
	if about["DEBUG"] == 0 || about["INFO"] == 0 {
		t.Errorf("lines about the run by level: %v of %d; want some at DEBUG and INFO\n%s", about, len(lines), strings.Join(lines, "\n"))
	}
}
