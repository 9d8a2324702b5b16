package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"campaignd/internal/client/resource"
	"campaignd/internal/command"
)

// The commands that change something through a method of operator.Session or a function of daemon,
// which write the line. TestEachChangeAndExportHasALineInTheLog of internal/api walks the methods.
var loggedBelow = []string{
	"launch", "pause", "resume", "limits", "cancel", "approve", "follow-up", "erase", "console", "backup", "ledger quarantine",
	"ledger erasures", "suppressions add", "suppressions remove", "suppressions import", "suppressions sync", "holds add", "holds lift",
	"keys create", "keys revoke", "notifications send",
}

// The commands that change nothing outside the machine of their user and give out no list of
// people's data. What serve does, it does for others, who have lines.
var commandLooks = []string{
	"serve", "demo", "check", "preview", "runs", "audit", "why", "history", "forecast", "schedule", "actions", "drops",
	"notifications", "notifications list", "notifications show", "runs compare", "suppressions show", "holds", "holds list", "init",
	"keys list", "webhooks list", "webhooks test", "webhooks deliveries", "templates list", "templates show", "templates wait",
	"templates diff", "media list", "commerce status", "commerce show", "sandbox", "doctor", "ledger migrate",
	"config show", "config schema", "version", "completion bash", "completion zsh", "completion fish", "completion powershell",
}

// A new command is one of the three: it writes its own line, what it calls does, or it only looks.
func TestEachChangeAndExportOfACommandHasALine(t *testing.T) {
	p := &program{Program: command.Program{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}}
	seen := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		name := strings.TrimPrefix(c.CommandPath(), "campaignd ")
		if c.HasSubCommands() && !slices.Contains(commandLooks, name) {
			return
		}
		seen[name] = true
		_, logged := loggedCommands[name]
		kinds := 0
		for _, is := range []bool{logged, slices.Contains(loggedBelow, name), slices.Contains(commandLooks, name)} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%s: got %d of the three lists with this command, want 1", name, kinds)
		}
	}
	walk(p.root())
	for name := range loggedCommands {
		if !seen[name] {
			t.Errorf("%s: got a line for a command that does not exist, want it removed", name)
		}
	}
}

// A command that was refused does not look done, and names what it was about.
func TestALineOfACommandHasItsResult(t *testing.T) {
	d := newFixture(t, nil)
	d.write("list.csv", listOf(3))
	d.want(0, "run", d.write("orders.yaml", campaignFile), "--settle", "0s") // makes the ledger
	d.want(0, "webhooks", "register", "https://hooks.example/webhooks/messaging")
	d.want(2, "webhooks", "rotate", "none-9")
	d.want(2, "person", "+23480312345678901")
	d.want(0, "report", "latest")
	d.want(0, "report", "latest", "-o", "csv")
	var got []string
	for _, a := range d.actions() {
		if strings.Contains(a.Detail, "23480312345678901") {
			t.Errorf("got the detail %q, want no number that a person typed", a.Detail)
		}
		detail, _, _ := strings.Cut(a.Detail, ": ")
		got = append(got, a.What+" "+a.On+" "+detail)
	}
	want := []string{"report latest done", "person  not done", "webhooks rotate none-9 not done",
		"webhooks register https://hooks.example/webhooks/messaging done", "run orders.yaml done"}
	if !slices.Equal(got, want) {
		t.Errorf("got the lines %q, want %q", got, want)
	}
}

// actions are the lines of the log of actions, the newest first.
func (f *fixture) actions() (all []resource.Action) {
	f.t.Helper()
	text := f.want(0, "actions", "--last", "1000", "-o", "json").stdout
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		f.t.Fatalf("%v\n%s", err, text)
	}
	return all
}
