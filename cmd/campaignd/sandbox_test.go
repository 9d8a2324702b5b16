package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What is said of a scenario's sandbox must let its reader in, and a fault given as a flag stands beside the scenario's.
func TestSandboxTellsTheScenariosKeysAndKeepsItsFaults(t *testing.T) {
	scenario := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(scenario, []byte("keys: [{token: key-of-all}, {token: key-of-one, company: co_1}]\nfaults: {lost_before: 0.25, latency: 5ms}\nwebhook_secret: of the scenario\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	said, stderr := io.Pipe()
	done := make(chan int, 1)
	go func() {
		var stdout bytes.Buffer
		done <- run(ctx, []string{"sandbox", "--addr", "127.0.0.1:0", "--scenario", scenario,
			"--fault", "latency=80ms", "--fault", "refusals=[{code: 131053, share: 0.5}]"}, strings.NewReader(""), &stdout, stderr, nil)
		_ = stderr.Close()
	}()
	lines := bufio.NewReader(said)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // whatever else it says must not hold it up
	defer func() {
		stop()
		<-done
	}()
	if !strings.Contains(first, "keys key-of-all, key-of-one") {
		t.Errorf("said %q", first)
	}
	res, err := http.Get(regexp.MustCompile(`http://[0-9.:]+`).FindString(first) + "/sandbox/faults")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lost_before: 0.25", "median: 80ms", "code: 131053"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %q in %s", want, raw)
		}
	}
}
