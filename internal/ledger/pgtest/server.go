//go:build unix

// Package pgtest starts a private PostgreSQL for tests, on a free loopback port, and ends it again.
//
// Tests of the ledger, and of processes that share one, call it. The server belongs to its caller,
// who may crash and restart it at will. The server and its files are gone after Stop, and after the
// process that started it died in any way. ErrMissing says that a machine lacks the programs of
// PostgreSQL; scripts/services.sh installs them.
package pgtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// ErrMissing says that the programs of PostgreSQL are not installed.
var ErrMissing = errors.New("PostgreSQL is not installed: run scripts/services.sh")

// Server is one PostgreSQL.
type Server struct {
	Addr string // host:port; the same after a restart

	bin, dir string
	as       *syscall.Credential // the user of the server; nil: this process's user
	settings []string
	watch    *exec.Cmd      // the shell that ends the server when this process dies
	life     io.WriteCloser // its standard input
	names    atomic.Int64
	filled   sync.Once
	fillErr  error
	reused   reused
}

// Start makes an empty server with these settings ("name=value") and waits until it answers.
// Its files are in memory (/dev/shm) if possible: the tests are about the protocol, not the disk.
func Start(settings ...string) (*Server, error) { return StartIn(dataFolder(), settings...) }

// StartIn is Start with the server's files in a new folder below parent.
func StartIn(parent string, settings ...string) (*Server, error) {
	bin, err := Programs()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, settings: settings}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if s.as, err = Unprivileged(); err != nil {
			return nil, err
		}
	}
	if s.dir, err = os.MkdirTemp(parent, "campaignd-postgres-"); err != nil {
		return nil, err
	}
	if s.as != nil {
		err = os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid))
	}
	if err == nil {
		err = s.init()
	}
	if err == nil {
		s.Addr, err = FreeAddr()
	}
	if err == nil {
		err = s.Restart()
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Require is for a test that needs the server. It skips the test when the programs are not
// installed, and fails it when they do not work, or with CI=true in the environment.
func Require(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && os.Getenv("CI") != "true":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + s.dir}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true} // a signal to this process's group must not reach it
	return c
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Crash ends the server without a shutdown: connections break, and changes that were not flushed to
// the log are lost.
func (s *Server) Crash() {
	if s.watch == nil {
		return
	}
	_, _ = io.WriteString(s.life, "keep\n")
	_ = s.life.Close()
	_ = s.watch.Wait()
	s.watch, s.life = nil, nil
}

// watched runs a server until its standard input has a line or ends. The input ends when the
// process that started the server died; then the files are removed too. SIGQUIT is PostgreSQL's
// immediate shutdown; its children end with it.
const watched = `"$@" >>server.log 2>&1 & pid=$!
read -r what
kill -QUIT $pid; wait $pid
[ "$what" = keep ] || rm -rf "$PWD"`

// Standby starts a standby that follows the server under a name, for synchronous_standby_names.
// Promote makes it the primary.
func (s *Server) Standby(name string) (*Server, error) {
	n := &Server{bin: s.bin, as: s.as, settings: s.settings}
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return nil, err
	}
	if n.dir, err = os.MkdirTemp(filepath.Dir(s.dir), "campaignd-postgres-"); err != nil {
		return nil, err
	}
	if n.as != nil {
		err = os.Chown(n.dir, int(n.as.Uid), int(n.as.Gid))
	}
	if err == nil {
		real, _ := filepath.EvalSymlinks(filepath.Join(n.bin, "initdb")) // PATH may have links to some programs only
		var out []byte
		out, err = n.command(filepath.Join(filepath.Dir(real), "pg_basebackup"), "--pgdata", n.data(), "--checkpoint", "fast",
			"--wal-method", "stream", "--write-recovery-conf", "--dbname",
			fmt.Sprintf("host=%s port=%s user=postgres application_name=%s", host, port, name)).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("pg_basebackup: %w: %s", err, out)
		}
	}
	if err == nil {
		n.Addr, err = FreeAddr()
	}
	if err == nil {
		err = n.start("SELECT 1")
	}
	if err != nil {
		n.Stop()
		return nil, err
	}
	return n, nil
}

// Promote makes a standby the primary, on a new timeline.
func (s *Server) Promote() error { return s.Exec("SELECT pg_promote()") }

// Restart crashes the server if it runs, starts it at the same address and waits until it answers.
func (s *Server) Restart() error {
	return s.start("DO $$ BEGIN IF pg_is_in_recovery() THEN RAISE 'it is recovering'; END IF; END $$")
}

// start is Restart of a server that is ready when it takes a statement.
func (s *Server) start(ready string) error {
	s.Crash()
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	args := []string{"-c", watched, "watched", filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", port,
		"-c", "listen_addresses=" + host, "-c", "unix_socket_directories=", "-c", "shared_buffers=64MB", "-c",
		"dynamic_shared_memory_type=mmap", "-c", "max_connections=200", "-c", "restore_command=false"}
	for _, x := range s.settings {
		args = append(args, "-c", x)
	}
	s.watch = s.command("/bin/sh", args...)
	if s.life, err = s.watch.StdinPipe(); err != nil {
		return err
	}
	if err := s.watch.Start(); err != nil {
		s.watch = nil
		return err
	}
	for deadline := time.Now().Add(2 * time.Minute); ; {
		err := s.Exec(ready)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
			return fmt.Errorf("postgres at %s does not answer: %w\n%s", s.Addr, err, log)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Restore makes the server go on as after the restore of a backup, or as a standby that was
// promoted: its commits are there, on a new timeline.
func (s *Server) Restore() error {
	s.Crash()
	signal := filepath.Join(s.data(), "recovery.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		return err
	}
	if s.as != nil {
		if err := os.Chown(signal, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return err
		}
	}
	return s.Restart()
}

// PID is the server's main process, for tests that stop it.
func (s *Server) PID() (int, error) {
	b, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	return strconv.Atoi(first)
}

// Stop ends the server and removes its files.
func (s *Server) Stop() {
	s.reused.forget()
	s.Crash()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}
