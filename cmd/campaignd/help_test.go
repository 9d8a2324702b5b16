package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// --help of every command, with the flags and their defaults. UPDATE_GOLDEN=1 writes the golden file anew. The shells'
// completion commands are cobra's own; only their examples are ours.
func TestHelpReadsAsItsGoldenFileSays(t *testing.T) {
	p := &program{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	d := &desk{t: t, dir: t.TempDir(), env: map[string]string{}}
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
		t.Errorf("-golden +got:\n%s", diff)
	}
}
