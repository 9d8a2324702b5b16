package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// The sandbox prints the API keys of its scenario, so that its user can send to it. The faults of
// --fault are added to those of the scenario.
func TestSandboxPrintsTheKeysAndKeepsTheFaults(t *testing.T) {
	scenario := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(scenario, []byte(`keys: [{token: key-of-all}, {token: key-of-one, company: co_1}]
faults: {lost_before: 0.25, latency: 5ms}
webhook_secret: of the scenario
`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	printed, stderr := io.Pipe()
	done := make(chan int, 1)
	go func() {
		var stdout bytes.Buffer
		done <- run(ctx, []string{"sandbox", "--addr", "127.0.0.1:0", "--scenario", scenario,
			"--fault", "latency=80ms", "--fault", "refusals=[{code: 131053, share: 0.5}]"}, strings.NewReader(""), &stdout, stderr, nil)
		_ = stderr.Close()
	}()
	lines := bufio.NewReader(printed)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // further lines must not block it
	defer func() {
		stop()
		<-done
	}()
	wantIn(t, "first line", first, "keys key-of-all, key-of-one")
	res, err := http.Get(regexp.MustCompile(`http://[0-9.:]+`).FindString(first) + "/sandbox/faults")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, "faults", string(raw), "lost_before: 0.25", "median: 80ms", "code: 131053")
}

// The flags for webhooks override the scenario: their URL, their secret and their retries.
func TestSandboxSignsAndRepeatsWebhooksAsItsFlagsSay(t *testing.T) {
	t.Parallel()
	scenario := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(scenario, []byte(`keys: [{token: sandbox-key}]
connections: [{id: conn_1, phone: "+15555550100"}]
templates:
  - {id: tpl_1, name: order_update, language: en_US, category: UTILITY, components: [{type: BODY, text: "Hello {{1}}, {{2}}"}]}
statuses: {sent: 1ms, delivered: 1ms, read: 1ms}
webhook_url: http://127.0.0.1:1/of-the-scenario
webhook_secret: of the scenario
`), 0o600); err != nil {
		t.Fatal(err)
	}
	secretFile := func(text string) string {
		path := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		flags  []string
		secret string
	}{
		{nil, "of the scenario"},
		{[]string{"--webhook-secret-file", secretFile(sandbox.DemoSecret)}, sandbox.DemoSecret},
		{[]string{"--webhook-secret-file", secretFile("of the file\n")}, "of the file"},
	} {
		verifier, err := messaging.NewVerifier(messaging.SignatureForm{}, messaging.NewSecret(tt.secret))
		if err != nil {
			t.Fatal(err)
		}
		posts := make(chan error, 100)
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				_, err = verifier.Verify(r.Header, body, time.Now())
			}
			posts <- err
			w.WriteHeader(http.StatusInternalServerError) // makes the sandbox send it again
		}))
		d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
		ctx, stop := context.WithCancel(t.Context())
		printed, stderr := io.Pipe()
		done := make(chan int, 1)
		args := append([]string{"sandbox", "--addr", "127.0.0.1:0", "--scenario", scenario,
			"--webhook", endpoint.URL + "/hook", "--retry-schedule", "1ms"}, tt.flags...)
		go func() {
			done <- run(ctx, args, strings.NewReader(""), io.Discard, stderr, nil)
			_ = stderr.Close()
		}()
		lines := bufio.NewReader(printed)
		first, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		url := regexp.MustCompile(`http://[0-9.:]+`).FindString(first)
		if want := "sandbox of the messaging service on " + url + ", key sandbox-key\n"; first != want {
			t.Errorf("first line: got %q, want %q", first, want)
		}
		if second, err := lines.ReadString('\n'); err != nil || second != "events go to "+endpoint.URL+"/hook\n" {
			t.Errorf("second line: got %q (%v), want that events go to %s/hook", second, err, endpoint.URL)
		}
		go func() { _, _ = io.Copy(io.Discard, lines) }()
		d.env["CAMPAIGND_SERVICE_BASE_URL"], d.env["CAMPAIGND_SERVICE_API_KEY"] = url, sandbox.DemoKey
		d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.path("none.db")
		d.write("c.yaml", campaignFile)
		d.write("list.csv", listOf(1))
		d.want(0, "test", d.path("c.yaml"), "--to", "+2348039999999")
		for n, late := 0, false; n < 6 && !late; n++ { // three statuses, each sent twice
			select {
			case err := <-posts:
				if err != nil {
					t.Errorf("%v: webhook %d: got %v, want a signature with %q", tt.flags, n+1, err, tt.secret)
				}
			case <-time.After(longWait):
				t.Errorf("%v: got %d webhooks, want 6: three, each sent twice", tt.flags, n)
				late = true
			}
		}
		stop()
		if code := <-done; code != 0 {
			t.Errorf("sandbox: exit code %d after its stop, want 0", code)
		}
		endpoint.Close()
	}
}
