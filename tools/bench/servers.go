//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/ledger/pgtest"
	"campaignd/throttle/redistest"
)

// cluster is one PostgreSQL and one redis-server. PostgreSQL has the settings of initdb: its files
// are on disk and every commit is flushed.
type cluster struct {
	*bench
	postgres *postgresServer
	pid      int // of PostgreSQL's main process, the parent of the others
	redis    *redistest.Server
	machine  string // what it runs on
}

// servers starts PostgreSQL and Redis. The caller calls end.
func (b *bench) servers() (_ *cluster, end func() error, err error) {
	// PostgreSQL, which does not run as root, needs to pass the folder above its own.
	if err := os.Chmod(b.dir, 0o711); err != nil {
		return nil, nil, err
	}
	server, err := pgtest.StartIn(b.dir, "shared_buffers=128MB", "dynamic_shared_memory_type=posix", "max_connections=200")
	if err != nil {
		return nil, nil, err
	}
	c := &cluster{bench: b, postgres: &postgresServer{server}}
	end = func() error {
		if c.redis != nil {
			c.redis.Kill()
		}
		server.Stop()
		return nil
	}
	if err := c.look(); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return c, end, nil
}

// look asks PostgreSQL what it is, and starts Redis.
func (c *cluster) look() (err error) {
	if c.pid, err = c.postgres.PID(); err != nil {
		return err
	}
	version, err := c.postgres.psql(c.ctx, "postgres", "SHOW server_version")
	if err != nil {
		return err
	}
	c.machine = machine() + ", PostgreSQL " + version
	c.redis, err = redistest.StartIn(c.dir)
	return err
}

// postgresServer is a PostgreSQL that psql asks.
type postgresServer struct{ *pgtest.Server }

// psql runs commands and returns their rows, with | between the columns and no blanks around them.
func (p *postgresServer) psql(ctx context.Context, database string, commands ...string) (string, error) {
	client, err := exec.LookPath("psql")
	if err != nil {
		programs, _ := pgtest.Programs()
		client = filepath.Join(programs, "psql")
	}
	args := []string{"-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", p.URL(database)}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	var stderr strings.Builder
	c := exec.CommandContext(ctx, client, args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// database creates an empty database and returns its name.
func (c *cluster) database() (string, error) {
	c.count++
	name := fmt.Sprintf("bench_%d", c.count)
	_, err := c.postgres.psql(c.ctx, "postgres", "CREATE DATABASE "+name)
	return name, err
}

func (c *cluster) dropDatabase(name string) error {
	_, err := c.postgres.psql(c.ctx, "postgres", "DROP DATABASE "+name+" WITH (FORCE)")
	return err
}

// askRedis sends one command and returns its answer.
func (c *cluster) askRedis(words ...string) (string, error) {
	answer, err := redistest.Ask(c.redis.Addr, words...)
	if err == nil && strings.HasPrefix(answer, "-") {
		err = fmt.Errorf("redis %v: %s", words, answer)
	}
	return answer, err
}

// scripts returns the number of script calls of Redis since its start.
func (c *cluster) scripts() (n int64, err error) {
	text, err := c.askRedis("INFO", "commandstats")
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":calls=")
		if err != nil || name != "cmdstat_evalsha" && name != "cmdstat_eval" {
			continue
		}
		var one int64
		calls, _, _ := strings.Cut(rest, ",")
		one, err = strconv.ParseInt(calls, 10, 64)
		n += one
	}
	return n, err
}

// pause waits for d, and returns an error when the program is to end.
func (b *bench) pause(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}
