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
	seed  = flag.Uint64("seed", 1, "seed of the list, the faults and the kills")
	kills = flag.Int("kills", 46, "number of processes that are killed in the long run, at least 40")

	// binary is campaignd with the crash points of internal/mutant, the mutations of tools/mutate, and
	// the clock of tools/skew. TestMain builds it once.
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
	mutations := filepath.Join(dir, "mutations")
	for _, command := range []*exec.Cmd{
		exec.Command("go", "run", "campaignd/tools/mutate", "-overlay", mutations),
		exec.Command("go", "run", "campaignd/tools/skew", filepath.Join(mutations, "overlay.json")),
		exec.Command("go", "build", "-tags", "mutants", "-overlay", filepath.Join(mutations, "overlay.json"), "-o", binary,
			"campaignd/cmd/campaignd"),
	} {
		if out, err := command.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v: %v\n%s", command, err, out)
			return 1
		}
	}
	return m.Run()
}

// process is one process of campaignd.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer // read once done is closed
	stderr bytes.Buffer
	done   chan struct{}

	mu       sync.Mutex
	signaled bool // the harness sent SIGKILL to the running process
}

// start starts a process. It is killed at the end of the test at the latest.
func start(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	return startProgram(t, binary, dir, env, args...)
}

// startProgram is start for a campaignd that is perhaps another version.
func startProgram(t *testing.T, program, dir string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(program, args...), done: make(chan struct{})}
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
		_ = p.cmd.Wait() // ProcessState holds the result
		close(p.done)
	}()
	p.t.Cleanup(func() { p.kill() })
	return p
}

// kill sends SIGKILL and waits for the end of the process. It returns false when the process had
// ended before.
func (p *process) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return false
	default:
	}
	p.signaled = true
	_ = p.cmd.Process.Kill() // an error means that it has just ended
	<-p.done
	return p.killed()
}

// wait waits for the end and returns the exit code, -1 for a signal. A process that runs longer
// than limit fails the test.
func (p *process) wait(limit time.Duration) int {
	p.t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // prints the goroutines to standard error
		time.AfterFunc(time.Second, func() { p.kill() })
		<-p.done
		p.t.Fatalf("%s: got no end within %v, want one:\n%s", p, limit, tail(p.stderr.String(), 200))
	}
	return p.cmd.ProcessState.ExitCode()
}

// killed waits for the end and reports whether SIGKILL was the cause.
func (p *process) killed() bool {
	<-p.done
	w, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == syscall.SIGKILL
}

// byItself reports whether the process killed itself at its point: SIGKILL ended it, and the
// harness had sent none.
func (p *process) byItself() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed() && !p.signaled
}

func (p *process) String() string { return "campaignd " + strings.Join(p.cmd.Args[1:], " ") }

// ask runs a command to its end and returns its exit code and standard output.
func (w *world) ask(args ...string) (int, string) {
	w.t.Helper()
	p := w.asked(args...)
	return p.cmd.ProcessState.ExitCode(), p.stdout.String()
}

// asked runs a command to its end.
func (w *world) asked(args ...string) *process {
	w.t.Helper()
	p := startProgram(w.t, w.program, w.dir, w.env, append(args, "--config", "campaignd.yaml")...)
	code := p.wait(2 * lifeLimit)
	if code < 0 || code == 2 {
		w.t.Fatalf("%s: exit code %d, want none of wrong usage\n%s", p, code, tail(p.stderr.String(), 20))
	}
	return p
}

// tail returns the last n lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
