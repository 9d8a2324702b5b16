//go:build mutants

package harness

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	seed  = flag.Uint64("seed", 1, "of the list, the faults and the kills")
	kills = flag.Int("kills", 46, "how many processes are killed in the long run, at least 40")

	// binary is campaignd with the crash points and mistakes of internal/mutant. TestMain builds it once.
	binary string
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "campaignd-harness-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "campaignd")
	build := exec.Command("go", "build", "-tags", "mutants", "-o", binary, "campaignd/cmd/campaignd")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build, err, out)
		return 1
	}
	return m.Run()
}

// process is one life of campaignd.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer // to be read once done is closed
	stderr bytes.Buffer
	done   chan struct{}

	mu   sync.Mutex
	shot bool // the harness sent SIGKILL to the living process
}

// start begins a life. It ends with the test at the latest.
func start(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, args...), done: make(chan struct{})}
	return p.begin(dir, env)
}

func (p *process) begin(dir string, env []string) *process {
	p.t.Helper()
	p.cmd.Dir = dir
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the state says how it ended
		close(p.done)
	}()
	p.t.Cleanup(func() { p.kill() })
	return p
}

// kill sends SIGKILL and waits until the process is gone. It reports false when it had ended before.
func (p *process) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return false
	default:
	}
	p.shot = true
	_ = p.cmd.Process.Kill() // it may have ended just now
	<-p.done
	return p.killed()
}

// wait awaits the end and returns the exit code, -1 for a signal. A process that outlives
// limit is a failure.
func (p *process) wait(limit time.Duration) int {
	p.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // the goroutines, into stderr
		time.AfterFunc(time.Second, func() { p.kill() })
		<-p.done
		p.t.Fatalf("%s did not end within %v:\n%s", p, limit, tail(p.stderr.String(), 200))
	}
	return p.cmd.ProcessState.ExitCode()
}

// killed reports whether SIGKILL ended it.
func (p *process) killed() bool {
	<-p.done
	w, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == syscall.SIGKILL
}

// byItself reports whether SIGKILL ended it and the harness had sent none: it reached its point.
func (p *process) byItself() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed() && !p.shot
}

func (p *process) String() string { return "campaignd " + strings.Join(p.cmd.Args[1:], " ") }

// tail is the end of a text, at most n lines.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
