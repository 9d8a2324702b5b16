//go:build unix

package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Pooler starts PgBouncer before the server, with these lines of its configuration, and returns the
// address of a database through it. PgBouncer ends with the test, or with this process. Without the
// program the test is skipped; with CI=true it fails.
func (s *Server) Pooler(t testing.TB, database string, settings ...string) (url string) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		Require(t, fmt.Errorf("PgBouncer: %w", ErrMissing))
	}
	addr, err := FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(addr)
	serverHost, serverPort, _ := net.SplitHostPort(s.Addr)
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s user=postgres\n[pgbouncer]\nlisten_addr = %s\nlisten_port = %s\n"+
		"auth_type = any\nunix_socket_dir =\n", serverHost, serverPort, host, port)
	for _, line := range settings {
		text += line + "\n"
	}
	file := filepath.Join(s.dir, "pgbouncer-"+port+".ini")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// The shell reads until this process closes its standard input, or dies.
	c := s.command("/bin/sh", "-c", `"$0" -q "$1" & read -r _; kill $!; wait`, program, file)
	life, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = life.Close()
		_ = c.Wait() // the exit code of a pooler that was killed
	})
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		one, err := net.Dial("tcp", addr)
		if err == nil {
			_ = one.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatalf("got %v, want that PgBouncer answers within 10 s", err)
		}
	}
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", addr, database)
}
