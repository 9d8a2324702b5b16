package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/version"
)

// A command that shows progress logs only warnings and errors, unless --log-level is given.
func TestTheLogHoldsTheLinesOfItsLevel(t *testing.T) {
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	for _, tt := range []struct {
		configured, flag string
		quiet            bool
		want             int // lines, of one for each level
	}{
		{"debug", "", false, 4}, {"info", "", false, 3}, {"warn", "", false, 2}, {"error", "", false, 1},
		{"debug", "", true, 2}, {"info", "", true, 2}, {"warn", "", true, 2}, {"error", "", true, 1},
		{"debug", "debug", true, 4}, {"info", "info", true, 3}, {"info", "info", false, 3}, // load copies the flag to the configuration
	} {
		for _, format := range []string{"text", "json"} {
			var out bytes.Buffer
			c := config.Default()
			c.Log.Level, c.Log.Format = tt.configured, format
			log := (&program{Program: command.Program{Stderr: &out}, logLevel: tt.flag}).log(c, tt.quiet)
			for _, l := range levels {
				log.Log(t.Context(), l, "said")
			}
			if got := strings.Count(out.String(), "\n"); got != tt.want {
				t.Errorf("configured %s, flag %q, quiet %v: %d lines, want %d:\n%s", tt.configured, tt.flag, tt.quiet, got, tt.want, &out)
			}
			if got := json.Valid([]byte(strings.SplitN(out.String(), "\n", 2)[0])); got != (format == "json") {
				t.Errorf("format %s: is JSON: got %v, want %v:\n%s", format, got, format == "json", &out)
			}
		}
	}
}

// JSON has no unit, so a duration is a number of seconds whose key says so.
func TestDurationsInTheJSONLogAreSeconds(t *testing.T) {
	for format, want := range map[string]string{"json": `"after_seconds":1.5`, "text": "after=1.5s"} {
		var out bytes.Buffer
		c := config.Default()
		c.Log.Format = format
		(&program{Program: command.Program{Stderr: &out}}).log(c, false).Info("said", "after", 1500*time.Millisecond)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: got %s, want %s", format, &out, want)
		}
	}
}

// The line that serve logs at its start has its role, addresses, ledger and version.
func TestServeSaysWhereItListensAndWhatItServes(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.env["CAMPAIGND_LOG_FORMAT"], d.env["CAMPAIGND_SERVICE_API_KEY"] = "json", "" // an intake needs no key
	ctx, stop := context.WithTimeout(t.Context(), longWait)
	defer stop()
	stderr := &until{text: `"msg":"serving"`, stop: stop}
	var stdout bytes.Buffer
	code := run(ctx, []string{"serve", "--role", "intake"}, strings.NewReader(""), &stdout, stderr, d.env)
	if code != 0 || stdout.Len() > 0 {
		t.Errorf("serve: exit code %d with %q on standard output, want 0 and nothing:\n%s", code, &stdout, stderr)
	}
	if got := strings.Count(stderr.String(), stderr.text); got != 1 {
		t.Errorf("%d lines have %s, want 1:\n%s", got, stderr.text, stderr)
	}
	for line := range strings.Lines(stderr.String()) {
		if !strings.Contains(line, `"msg":"serving"`) {
			continue
		}
		var values map[string]string
		if err := json.Unmarshal([]byte(line), &values); err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{
			"level": "INFO", "role": "intake", "webhooks": "http://" + d.public + "/webhooks/messaging",
			"ledger": d.env["CAMPAIGND_LEDGER"], "campaigns": d.path("campaigns"), "version": version.String(),
		} {
			if values[key] != want {
				t.Errorf("%s = %q, want %q in %s", key, values[key], want, line)
			}
		}
		if u, err := url.Parse(values["admin"]); err != nil || u.Hostname() != "127.0.0.1" || u.Host == d.public {
			t.Errorf("admin = %q, want an address of its own in %s", values["admin"], line)
		}
	}
}
