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

// child starts the test binary as a command of campaignd. Its standard error is a pipe.
func (d *fixture) child(args ...string) (child *exec.Cmd, stdout *bytes.Buffer, stderr io.ReadCloser) {
	d.t.Helper()
	child, stdout = exec.Command(os.Args[0], args...), &bytes.Buffer{}
	child.Env = append(os.Environ(), actAsCampaignd+"=1")
	for name, value := range d.env {
		child.Env = append(child.Env, name+"="+value)
	}
	child.Stdout = stdout
	stderr, err := child.StderrPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = child.Process.Kill() })
	return child, stdout, stderr
}

// `campaignd serve 2>&1 | grep error` whose grep ends: serve sends on, and ends in order.
func TestServeOutlivesTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	child, _, stderr := d.child("serve")
	read, buffer := "", make([]byte, 1<<12)
	for !strings.Contains(read, "msg=serving") {
		n, err := stderr.Read(buffer)
		if read += string(buffer[:n]); err != nil {
			t.Fatalf("the log ended with %v, want that it serves:\n%s", err, read)
		}
	}
	if err := stderr.Close(); err != nil {
		t.Fatal(err)
	}
	d.want(0, "launch", d.path("c.yaml"), "--recipients", d.path("list.csv"))
	d.eventually("the run has ended", func() bool { return d.report("latest").Run.State == "finished" })
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if got, want := child.ProcessState.String(), "exit status 0"; got != want {
		t.Errorf("after SIGTERM: got %s, want %s", got, want)
	}
}

// `campaignd run 2>&1 >report | less` whose less ends: run sends the rest and reports.
func TestRunOutlivesTheReaderOfItsProgress(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	child, stdout, stderr := d.child("run", d.path("c.yaml"), "--recipients", d.path("list.csv"), "--settle", "1m")
	if err := stderr.Close(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if got, want := child.ProcessState.String(), "exit status 0"; got != want || !strings.HasPrefix(stdout.String(), "orders-1  ") {
		t.Errorf("got %s and standard output %q, want %s and the report", got, stdout, want)
	}
}
