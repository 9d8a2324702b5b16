//go:build unix

// Package pgtest starts a private PostgreSQL for tests, on a free loopback port, and ends it again.
//
// Tests of the ledger and of processes that share one call it. It promises that the server is
// the caller's own: it may be crashed and restarted at will, and with everything it wrote it is
// gone when Stop is called, or when the process that started it dies in any way. A machine without
// PostgreSQL's programs is told apart from one where they fail (ErrMissing). scripts/services.sh
// installs them.
package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing says that the programs of PostgreSQL are not installed.
var ErrMissing = errors.New("PostgreSQL is not installed: run scripts/services.sh")

// Server is one PostgreSQL.
type Server struct {
	Addr string // host:port; the same after a restart

	bin, dir string
	as       *syscall.Credential // nil: as we are
	settings []string
	watch    *exec.Cmd      // the shell that ends the server when we die
	life     io.WriteCloser // its standard input
	names    atomic.Int64
	filled   sync.Once
	fillErr  error
}

// Start makes an empty server with these settings ("name=value") and waits until it answers.
// Data lie in memory (/dev/shm) where there is such a place: what is tested is the protocol, not the disk.
func Start(settings ...string) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, settings: settings}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if s.as, err = unprivileged(); err != nil {
			return nil, err
		}
	}
	if s.dir, err = os.MkdirTemp(place(), "campaignd-postgres-"); err != nil {
		return nil, err
	}
	if s.as != nil {
		err = os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid))
	}
	if err == nil {
		err = s.init()
	}
	if err == nil {
		s.Addr, err = freeAddr()
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

// Require is for a test that cannot do without the server: it skips when the programs are
// not installed, and fails when they do not work, or with CI=true in the environment.
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

// programs finds the folder of initdb and postgres: on PATH, or where Debian puts them, the newest first.
func programs() (string, error) {
	if p, err := exec.LookPath("postgres"); err == nil {
		if _, err := os.Stat(filepath.Join(filepath.Dir(p), "initdb")); err == nil {
			return filepath.Dir(p), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	version := func(p string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(p))))
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(version(b), version(a)) })
	if len(found) == 0 {
		return "", ErrMissing
	}
	return filepath.Dir(found[0]), nil
}

// unprivileged is the user that a server started by root runs as.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func place() string {
	if f, err := os.Stat("/dev/shm"); err == nil && f.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + s.dir}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true} // a signal to our group is not for it
	return c
}

// pristine are the files that initdb wrote first, so that other servers of this process are made in a tenth of its time. All of
// them have one system identifier.
var pristine struct {
	sync.Mutex
	files fstest.MapFS
}

// init makes the server's files.
func (s *Server) init() error {
	pristine.Lock()
	defer pristine.Unlock()
	if pristine.files != nil {
		return s.unpack(pristine.files)
	}
	if err := s.initdb(); err != nil {
		return err
	}
	files := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(s.data()), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			files[path] = &fstest.MapFile{Mode: fs.ModeDir | 0o700}
			return err
		}
		b, err := os.ReadFile(filepath.Join(s.data(), path))
		files[path] = &fstest.MapFile{Data: b, Mode: 0o600}
		return err
	})
	if err == nil {
		pristine.files = files
	}
	return err
}

// unpack writes files as the server's, for its user alone: it refuses others.
func (s *Server) unpack(files fs.FS) error {
	if err := os.CopyFS(s.data(), files); err != nil {
		return err
	}
	if err := os.Chmod(s.data(), 0o700); err != nil || s.as == nil {
		return err
	}
	return filepath.WalkDir(s.data(), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, int(s.as.Uid), int(s.as.Gid))
	})
}

func (s *Server) initdb() error {
	out, err := s.command(filepath.Join(s.bin, "initdb"), "--pgdata", s.data(), "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--no-locale", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Crash is the end of the server without a shutdown: connections break, and what was not
// flushed to the log is lost.
func (s *Server) Crash() {
	if s.watch == nil {
		return
	}
	_, _ = io.WriteString(s.life, "keep\n")
	_ = s.life.Close()
	_ = s.watch.Wait()
	s.watch, s.life = nil, nil
}

// watched runs a server until a line comes in, or the end of the input because whoever
// started it is gone: then nobody needs its files any more. SIGQUIT is PostgreSQL's immediate
// shutdown; its children end with it.
const watched = `"$@" >>server.log 2>&1 & pid=$!
read -r what
kill -QUIT $pid; wait $pid
[ "$what" = keep ] || rm -rf "$PWD"`

// Restart crashes the server if it runs, starts it at the same address and waits until it answers.
func (s *Server) Restart() error {
	s.Crash()
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	args := []string{"-c", watched, "watched", filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", port,
		"-c", "listen_addresses=" + host, "-c", "unix_socket_directories=", "-c", "shared_buffers=64MB", "-c", "dynamic_shared_memory_type=mmap", "-c", "max_connections=100", "-c", "restore_command=false"}
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
	for deadline := time.Now().Add(30 * time.Second); ; {
		err := s.Exec("DO $$ BEGIN IF pg_is_in_recovery() THEN RAISE 'it is recovering'; END IF; END $$")
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

// Restore makes the server go on as one that was restored from a backup, or a standby that was
// promoted: what it had committed is there, on a new timeline.
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

// Stop ends the server and removes all that it wrote.
func (s *Server) Stop() {
	s.Crash()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// URL is the address of one of its databases, as ledger.Open takes it.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", s.Addr, database)
}

// Exec runs statements as the superuser, outside any test's database.
func (s *Server) Exec(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for _, x := range statements {
		if _, err := c.Exec(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// Database makes an empty database that ends with the test, and gives its address.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	return s.database(t, "")
}

// Filled is Database with what fill, which is always the same and closes what it opens, writes into one. It is called once,
// and its database copied.
func (s *Server) Filled(t testing.TB, fill func(url string) error) string {
	t.Helper()
	const name = "filled"
	s.filled.Do(func() {
		if s.fillErr = s.Exec("CREATE DATABASE " + name); s.fillErr == nil {
			s.fillErr = fill(s.URL(name))
		}
	})
	if s.fillErr != nil {
		t.Fatalf("filling a database to copy: %v; want fillErr nil", s.fillErr)
	}
	return s.database(t, " TEMPLATE "+name)
}

func (s *Server) database(t testing.TB, how string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", s.names.Add(1))
	if err := s.Exec("CREATE DATABASE " + name + how); err != nil {
		t.Fatalf("making database %s: %v; want no error", name, err)
	}
	t.Cleanup(func() {
		if err := s.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("dropping database %s: %v; want no error", name, err)
		}
	})
	return s.URL(name)
}
