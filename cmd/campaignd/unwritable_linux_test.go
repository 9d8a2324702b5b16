package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs a command of campaignd as another user in the folder of the fixture. The test must
// be root's, because only root may become another user.
func (d *fixture) asNobody(binary string, args ...string) result {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), binary, args...)
	cmd.Dir = d.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Env = []string{actAsCampaignd + "=1", "HOME=/", "TMPDIR=" + d.path("tmp")}
	for name, value := range d.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		d.t.Fatalf("%v: %v", args, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// A colleague may read the ledger and not write it: reports work, and what would write says why
// not.
func TestAReaderNeedsNoRightToWriteTheLedger(t *testing.T) {
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	mode := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(d.path(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(d.path("tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	mode("tmp", 0o777)
	reader := d.run
	if os.Getuid() == 0 { // root may write everything, so another user reads
		binary := d.path("campaignd.test")
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		copyProgram(t, binary, self)
		mode("..", 0o755)
		reader = func(args ...string) result { return d.asNobody(binary, args...) }
	} else {
		t.Setenv("TMPDIR", d.path("tmp"))
		defer mode(".", 0o755)
	}
	mode(".", 0o555)
	mode("campaignd.db", 0)
	if r := reader("runs"); r.code != 1 || !strings.Contains(r.stderr, "permission denied") {
		t.Errorf("a private ledger: got %d with %q, want 1 and that the permission is missing", r.code, r.stderr)
	}
	mode("campaignd.db", 0o444)
	for _, args := range [][]string{{"runs"}, {"report", "latest"}, {"audit", "latest"}, {"why", "latest"}} {
		got := reader(args...)
		if got.code != 0 || !strings.Contains(got.stdout, "orders-1") {
			t.Errorf("%v: got %d with\n%s%s\nwant 0 and the run", args, got.code, got.stdout, got.stderr)
		}
		wantIn(t, args[0], got.stderr, "a copy of it is read")
	}
	if r := reader("suppressions", "export"); r.code != 0 || !strings.HasPrefix(r.stdout, "to,scope,") {
		t.Errorf("suppressions export: got %d with\n%s%s\nwant 0 and the list", r.code, r.stdout, r.stderr)
	}
	if r := reader("cancel", "latest"); r.code != 1 || !strings.Contains(r.stderr, "cannot be written") {
		t.Errorf("cancel: got %d with %q, want 1 and that the file cannot be written", r.code, r.stderr)
	}
	left, err := os.ReadDir(d.path("tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("copies %v and %v are left, want none", left, err)
	}
}

func copyProgram(t *testing.T, to, from string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755) //nolint:gosec // a program
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
