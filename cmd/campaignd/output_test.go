package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/internal/command"
	"campaignd/internal/sandbox"
	"campaignd/internal/sentence"
)

// full is a writer that fails as a full disk does.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// A report that could not be written whole must not look complete to a script.
func TestAResultThatCannotBeWrittenIsExitOne(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", listOf(3))
	c := d.path("c.yaml")
	d.want(0, "run", c, "--settle", "1m")
	for _, args := range [][]string{
		{"run", c}, {"run", c, "-o", "json"}, {"runs"}, {"runs", "-o", "json"},
		{"report", "1"}, {"report", "1", "--format", "json"}, {"report", "1", "--format", "csv"},
		{"audit", "1"}, {"audit", "1", "-o", "json"}, {"why", "1"}, {"why", "1", "-o", "json"}, {"history", "1"}, {"history", "1", "-o", "json"},
		{"resolve", "1", "--unknown", "keep"}, {"resolve", "1", "-o", "json"}, {"resolve", "1"},
		{"check", c}, {"check", c, "-o", "json"}, {"preview", c}, {"preview", c, "-o", "json"}, {"schedule"}, {"schedule", "-o", "json"},
		{"config", "show"}, {"config", "show", "-o", "json"}, {"config", "schema"}, {"version"}, {"version", "-o", "json"},
		{"suppressions", "add", "+2348031234567"}, {"suppressions", "remove", "+2348031234567"}, {"suppressions", "export"},
		{"suppressions", "import", d.write("s.csv", "to\n+2348031234567\n")},
		{"ledger", "quarantine"}, {"ledger", "quarantine", "-o", "json"}, {"ledger", "quarantine", "--dry-run", "--force"},
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), full{}, &stderr, d.env)
		if code != 1 || !strings.Contains(stderr.String(), errFull.Error()) {
			t.Errorf("campaignd %s > /dev/full: got %d with %q, want 1 with %q", strings.Join(args, " "), code, stderr.String(), errFull)
		}
	}
}

// printed returns what write prints to standard output.
func printed(t *testing.T, write func(*program) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&program{Program: command.Program{Stdout: &out}}); err != nil {
		t.Error(err)
	}
	return out.String()
}

func TestValuesAreShownSafely(t *testing.T) {
	for given, want := range map[string]string{"plain é 中": "plain é 中", "\x1b[31mred\n": "\uFFFD[31mred\uFFFD", "": ""} {
		if got := sentence.Printable(given); got != want {
			t.Errorf("sentence.Printable(%q) = %q, want %q", given, got, want)
		}
	}
	if got := command.Clock(time.Time{}); got != "-" {
		t.Errorf("clock of no time = %q, want -", got)
	}
	key := func(s string) sandbox.Key { return sandbox.Key{Token: s} }
	one, two := keysOf(sandbox.Options{Keys: []sandbox.Key{key("a")}}), keysOf(sandbox.Options{Keys: []sandbox.Key{key("a"), key("b")}})
	if one != "key a" || two != "keys a, b" {
		t.Errorf("keysOf = %q and %q, want \"key a\" and \"keys a, b\"", one, two)
	}
	if got, err := durations([]string{"1s", "1ns"}); err != nil || fmt.Sprint(got) != "[1s 1ns]" {
		t.Errorf("durations = %v and %v, want [1s 1ns]", got, err)
	}
}
