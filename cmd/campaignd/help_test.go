package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"campaignd/internal/client/resource"
	"campaignd/internal/command"
	"campaignd/internal/operator"
)

// The golden file has the --help of every command, with the flags and their defaults.
// UPDATE_GOLDEN=1 rewrites it. Cobra adds the completion commands of the shells, so only their
// examples are compared.
func TestHelpMatchesItsGoldenFile(t *testing.T) {
	p := &program{Program: command.Program{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}}
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	var got strings.Builder
	var write func(*cobra.Command)
	write = func(c *cobra.Command) {
		got.WriteString("=== " + c.CommandPath() + "\n")
		if c.HasParent() && c.Parent().Name() == "completion" {
			got.WriteString(c.Example + "\n\n")
			return
		}
		r := d.want(0, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if r.stderr != "" {
			t.Errorf("%s --help: standard error has %q, want nothing", c.CommandPath(), r.stderr)
		}
		got.WriteString(r.stdout + "\n")
		for _, sub := range c.Commands() {
			write(sub)
		}
	}
	write(p.root())
	golden := filepath.Join("testdata", "help.golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("help: -want +got:\n%s", diff)
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	p := &program{Program: command.Program{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}}
	var names []string
	for _, c := range p.root().Commands() {
		names = append(names, c.Name())
		for _, leaf := range append(c.Commands(), c) {
			if leaf.Short == "" || leaf.Example == "" && !leaf.HasSubCommands() {
				t.Errorf("%s has the short text %q and the example %q, want both", leaf.CommandPath(), leaf.Short, leaf.Example)
			}
		}
	}
	for _, want := range []string{
		"run", "serve", "launch", "demo", "check", "report", "audit", "why", "history", "runs", "pause", "resume", "limits", "cancel", "approve",
		"suppressions",
		"preview", "test", "resolve", "follow-up", "sandbox", "schedule", "drops", "config", "version",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("got the commands %v, want %s among them", names, want)
		}
	}
}

// Every example of --help runs as it is written, over a ledger with the three runs, the
// recipient and the number that the examples name.
func TestExamplesOfHelpWorkWhenPasted(t *testing.T) {
	d := newFixture(t, nil)
	t.Chdir(d.dir)
	d.env["CAMPAIGND_COMMERCE_BASE_URL"], d.env["CAMPAIGND_COMMERCE_COMPANY"] = platform(t, map[string]int{"key": 200}), company
	d.env["CAMPAIGND_COMMERCE_API_KEY"] = "key"
	d.write("spring.yaml", strings.NewReplacer("orders", "spring-sale", "{file: list.csv, ", "{").Replace(campaignFile))
	d.write("winback.yaml", audienceFile)
	d.write("list.csv", listOf(50)+"+2348031234567,Name,A-50\n")
	d.write("customers.csv", listOf(3))
	d.write("do-not-contact.csv", "phone\n+2348031299998\n")
	d.write("banner.jpg", "\xff\xd8\xff\xe0 a picture")
	for _, folder := range []string{"templates", "marketing/templates"} {
		if err := os.MkdirAll(d.path(folder), 0o700); err != nil {
			t.Fatal(err)
		}
		d.write(folder+"/order.en_US.yaml", "name: order\nlanguage: en_US\nlibraryName: delivery_update\n")
	}
	d.want(0, "templates", "push")
	for range 3 {
		d.want(0, "run", "spring.yaml", "--recipients", "list.csv", "--new", "--settle", "0s")
	}
	pasted, ran := 0, map[string]bool{}
	p := &program{Program: command.Program{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}}
	var paste func(c *cobra.Command)
	paste = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			paste(sub)
		}
		switch name, _ := strings.CutPrefix(c.CommandPath(), "campaignd "); name {
		case "campaignd", "serve", "sandbox", "demo", "launch", "console", "webhooks test",
			"commerce connect": // they do not end, take long, or want a serve or an installation
			return
		// These commands refuse a run that has ended or has no such rows or key, or remove what other
		// examples name.
		case "pause", "resume", "limits", "cancel", "approve", "follow-up", "resolve", "keys revoke", "webhooks remove", "erase",
			"webhooks register",
			"notifications show", "notifications send":
			return
		case "completion bash", "completion zsh", "completion fish", "completion powershell": // their examples are commands of a shell
			return
		}
		for line := range strings.SplitSeq(c.Example, "\n") {
			line, _, _ = strings.Cut(line, " > ")
			words := strings.Fields(line)
			if len(words) == 0 || strings.TrimSpace(line) == "campaignd backup -" { // that output is no text
				continue
			}
			if strings.Contains(words[0], "=") { // the variable before the command is left out
				words = words[1:]
			}
			if words[0] != "campaignd" {
				t.Errorf("got the example %q, want a command of campaignd", line)
				continue
			}
			pasted++
			ran[strings.TrimPrefix(c.CommandPath(), "campaignd ")] = true
			if r := d.run(words[1:]...); r.code != 0 {
				t.Errorf("%s: exit code %d, want 0\n%s", line, r.code, r.stderr)
			}
		}
	}
	paste(p.root())
	if pasted < 25 {
		t.Errorf("found %d examples, want 25 or more", pasted)
	}
	lines := d.actions()
	for name := range loggedCommands {
		done := func(a resource.Action) bool { return a.What == name && strings.HasSuffix(a.Detail, operator.Done) }
		if ran[name] && !slices.ContainsFunc(lines, done) {
			t.Errorf("%s ran, and got no line that ends with %q in the log of actions, want one", name, operator.Done)
		}
	}
	if text := fmt.Sprint(lines); strings.Contains(text, "2348031234567") {
		t.Errorf("got the lines %s, want none with the number of a person", text)
	}
}
