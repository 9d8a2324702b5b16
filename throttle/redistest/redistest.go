// Package redistest starts a private redis-server for a test, on a free loopback port, with
// nothing on disk, and stops it again.
//
// Tests of throttle and of processes that share a number call it. It promises that the server
// belongs to the test: the test may kill, empty and restart it, and it ends with the test or with
// the process that runs the test, however that dies. Without redis-server the test is skipped and
// says so; with CI=true in the environment it fails instead. scripts/services.sh installs
// redis-server.
package redistest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Server is one redis-server.
type Server struct {
	Addr string // host:port; the same after a restart

	more  []string // further arguments
	t     testing.TB
	dir   string
	watch *exec.Cmd      // the shell that ends the server when this process dies
	life  io.WriteCloser // its standard input
}

// Start starts a server that ends with the test, with further arguments of redis-server.
func Start(t testing.TB, more ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("redis-server is not installed: run scripts/services.sh")
		}
		t.Skip("redis-server is not installed: run scripts/services.sh")
	}
	s, err := StartIn(t.TempDir(), more...)
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(s.Kill)
	return s
}

// StartIn starts a server for a program that is no test, which must call Kill. dir is the server's
// folder, which stays empty. Such a program calls no method but URL and Kill.
func StartIn(dir string, more ...string) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: listener.Addr().String(), dir: dir, more: more}
	if err := listener.Close(); err != nil {
		return nil, err
	}
	return s, s.start()
}

// URL is the server's address in the form that throttle.NewRedis takes. database is 0 to 63.
func (s *Server) URL(database int) string { return fmt.Sprintf("redis://%s/%d", s.Addr, database) }

// Kill is kill -9: everything the server knew is lost.
func (s *Server) Kill() {
	if s.watch == nil {
		return
	}
	_ = s.life.Close()
	_ = s.watch.Wait()
	s.watch, s.life = nil, nil
}

// watched is a shell script that runs a server until standard input ends.
const watched = `"$@" & pid=$!
read -r forever
kill -KILL $pid; wait $pid`

// Restart kills the server if it runs, starts an empty one at the same address and waits until it
// answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) start() error {
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	args := append([]string{"-c", watched, "watched", "redis-server", "--bind", host, "--port", port, "--save", "",
		"--appendonly", "no", "--databases", strconv.Itoa(64), "--loglevel", "warning", "--daemonize", "no", "--dir", s.dir}, s.more...)
	s.watch = exec.Command("/bin/sh", args...)
	if s.life, err = s.watch.StdinPipe(); err == nil {
		err = s.watch.Start()
	}
	if err != nil {
		s.watch = nil
		return err
	}
	for deadline := time.Now().Add(answers); ; {
		if answer, err := Ask(s.Addr, "PING"); err == nil && answer == "+PONG" {
			return nil
		} else if time.Now().After(deadline) {
			s.Kill()
			return fmt.Errorf("redis-server at %s: got %q, %w; want +PONG within %v", s.Addr, answer, err, answers)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Do sends one command of plain words and returns the first line of the answer: a status or number
// with its mark (+OK, :1), a string without, "" for none. An error answer fails the test.
func (s *Server) Do(words ...string) string {
	s.t.Helper()
	return s.Lines(words...)[0]
}

// Lines is Do for an answer of many lines, such as that of INFO.
func (s *Server) Lines(words ...string) []string {
	s.t.Helper()
	answer, err := Ask(s.Addr, words...)
	if err != nil || strings.HasPrefix(answer, "-") {
		s.t.Fatalf("redis %v: got %q, %v; want an answer without an error", words, answer, err)
	}
	return strings.Split(answer, "\r\n")
}

// answers is how long a server of a busy machine may take for a command.
const answers = time.Minute

// Ask sends one command of plain words to a server and returns its answer, also that of an error.
func Ask(addr string, words ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, answers)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answers)); err != nil {
		return "", err
	}
	// The inline form of a command
	// (https://redis.io/docs/latest/develop/reference/protocol-spec/#inline-commands).
	if _, err := fmt.Fprintf(conn, "%s\r\n", strings.Join(words, " ")); err != nil {
		return "", err
	}
	reply := bufio.NewReader(conn)
	line, err := reply.ReadString('\n')
	line = strings.TrimSpace(line)
	if err != nil || !strings.HasPrefix(line, "$") || line == "$-1" {
		return strings.TrimPrefix(line, "$-1"), err
	}
	size, err := strconv.Atoi(line[1:])
	if err != nil {
		return "", err
	}
	text := make([]byte, size)
	_, err = io.ReadFull(reply, text)
	return string(text), err
}
