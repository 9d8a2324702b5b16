//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"campaignd/internal/ledger/pgtest"
	"campaignd/throttle/redistest"
)

// service is a private server. It runs under a shell that ends it at the end of the shell's input,
// which also ends with this process.
type service struct {
	addr string // host:port
	cmd  *exec.Cmd
	in   io.WriteCloser // the input of the shell
	log  string         // path of the log
}

// watched is a shell script that runs a command until the end of the input.
const watched = `"$@" >>server.log 2>&1 & pid=$!
read -r forever
kill -INT $pid; wait $pid; true`

// serve starts a command in dir and waits until it answers.
func serve(ctx context.Context, c *exec.Cmd, dir, addr string, answers func() error) (*service, error) {
	shell := exec.Command("/bin/sh", append([]string{"-c", watched, "watched"}, c.Args...)...)
	s := &service{addr: addr, cmd: shell, log: filepath.Join(dir, "server.log")}
	s.cmd.Dir, s.cmd.Env, s.cmd.SysProcAttr = dir, c.Env, c.SysProcAttr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(30 * time.Second); ; {
		if err = answers(); err == nil {
			return s, nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			log, _ := os.ReadFile(s.log)
			return nil, errors.Join(fmt.Errorf("%s does not answer at %s: %w\n%s", c.Args[0], addr, err, log), s.end())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// end ends the server and waits for it.
func (s *service) end() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

// postgresServer is a PostgreSQL with the settings of initdb, and its files on the disk of -dir.
type postgresServer struct {
	*service
	bin    string
	client string // path of psql
	data   string
}

// startPostgres starts an empty server with its files below dir.
func startPostgres(ctx context.Context, dir string) (*postgresServer, error) {
	p := &postgresServer{data: filepath.Join(dir, "data")}
	var err error
	if p.bin, err = pgtest.Programs(); err != nil {
		return nil, err
	}
	p.client = filepath.Join(p.bin, "psql")
	if path, err := exec.LookPath("psql"); err == nil {
		p.client = path
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
		c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + dir}
		return c
	}
	unprivileged := func(*exec.Cmd) {}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		user, err := pgtest.Unprivileged()
		if err != nil {
			return nil, err
		}
		// The server needs to pass the folder above its own, but not to list it.
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chown(dir, int(user.Uid), int(user.Gid))); err != nil {
			return nil, err
		}
		unprivileged = func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Credential: user} }
	}
	initdb := command("initdb", "--pgdata", p.data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--no-locale")
	unprivileged(initdb)
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	addr, err := pgtest.FreeAddr()
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(addr)
	server := command("postgres", "-D", p.data, "-p", port, "-c", "listen_addresses="+host,
		"-c", "unix_socket_directories=", "-c", "max_connections=200")
	unprivileged(server)
	p.service = &service{addr: addr}
	p.service, err = serve(ctx, server, dir, addr, func() error {
		_, err := p.psql(ctx, "postgres", "SELECT 1")
		return err
	})
	return p, err
}

// url returns the address of a database.
func (p *postgresServer) url(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", p.addr, database)
}

// psql runs commands and returns their rows, with | between the columns.
func (p *postgresServer) psql(ctx context.Context, database string, commands ...string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	args := []string{"-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", p.url(database)}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	var stderr strings.Builder
	c := exec.CommandContext(ctx, p.client, args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// pid returns the id of the server's main process, the parent of the others.
func (p *postgresServer) pid() (int, error) {
	b, err := os.ReadFile(filepath.Join(p.data, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	return strconv.Atoi(first)
}

// serverCPU returns the CPU time of a process and its children, also of those that have ended. It
// returns 0 without /proc or pid. The time is a multiple of a clock tick, 10 ms (proc(5)).
func serverCPU(pid int) (sum time.Duration) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || pid == 0 {
			continue // the process has ended
		}
		text := string(b)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		own := filepath.Base(filepath.Dir(f)) == strconv.Itoa(pid)
		if len(fields) < 15 || !own && fields[1] != strconv.Itoa(pid) {
			continue
		}
		times := fields[11:13] // utime and stime
		if own {
			times = fields[11:15] // and cutime and cstime, of the children that have ended
		}
		for _, t := range times {
			ticks, _ := strconv.ParseInt(t, 10, 64)
			sum += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return sum
}

// redis is a redis-server without files.
type redis struct{ *service }

func startRedis(ctx context.Context, dir string) (*redis, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("redis-server is not installed: run scripts/services.sh")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	addr, err := pgtest.FreeAddr()
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(addr)
	r := &redis{&service{addr: addr}}
	server := exec.Command(program, "--bind", host, "--port", port, "--save", "", "--appendonly", "no")
	r.service, err = serve(ctx, server, dir, addr, func() error {
		_, err := r.ask("PING")
		return err
	})
	return r, err
}

// ask sends one command and returns its answer.
func (r *redis) ask(words ...string) (string, error) {
	answer, err := redistest.Ask(r.addr, words...)
	if err == nil && strings.HasPrefix(answer, "-") {
		err = fmt.Errorf("redis %v: %s", words, answer)
	}
	return answer, err
}

// scripts returns the number of script calls since the start.
func (r *redis) scripts() (n int64, err error) {
	text, err := r.ask("INFO", "commandstats")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		for _, name := range []string{"cmdstat_evalsha:calls=", "cmdstat_eval:calls="} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				calls, _, _ := strings.Cut(rest, ",")
				one, err := strconv.ParseInt(calls, 10, 64)
				if err != nil {
					return 0, err
				}
				n += one
			}
		}
	}
	return n, nil
}
