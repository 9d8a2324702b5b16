//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// cluster is a run of this program with -cluster. It uses one PostgreSQL and one redis-server,
// which it starts with their default settings: PostgreSQL's files are on disk and every commit is
// flushed. It measures
//
//   - one replica against the bare loop, and the size of its ledger afterwards;
//   - one, two and four replicas that share four numbers with a service that answers slowly, and
//     one replica at the rate of each of the four, each against as many bare loops;
//   - an import against psql's own \copy of the same columns;
//   - statuses applied durably in batches;
//   - memory and rate of two replicas that import and send a million rows.
type cluster struct {
	*bench
	postgres *postgresServer
	redis    *redis
}

// shared has the figures of a cluster.
type shared struct {
	Go, OS, PostgreSQL string
	CPUs, Repetitions  int
	Messages, Workers  int
	PeriodSeconds      float64
	One                *comparison
	Replicas           []*fleetResult
	Copy               []copied
	Events             [][]applied        // of each repetition
	Million            *million           `json:",omitempty"` // measured once, unless -quick
	BytesPerDelivery   map[string]float64 // by table, with its indexes, and in total
}

// fleetResult has the measured periods of a setting.
type fleetResult struct {
	setting
	Pace     float64 // messages per second of all numbers together
	Periods  []period
	Bare     []period // as many bare loops at the same rate
	CPURatio figure   // CPU time per message against the bare loops of the same repetition
}

// cluster measures everything.
func (b *bench) cluster() (_ *shared, err error) {
	c, end, err := b.servers()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	r := &shared{
		Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Repetitions: b.repetitions, Messages: b.messages, Workers: b.workers,
		PeriodSeconds: b.period.Seconds(), One: &comparison{Batch: b.most()}, BytesPerDelivery: map[string]float64{},
	}
	if r.PostgreSQL, err = c.postgres.psql(b.ctx, "postgres", "SHOW server_version"); err != nil {
		return nil, err
	}
	for _, many := range settings {
		if b.silent {
			break
		}
		r.Replicas = append(r.Replicas, &fleetResult{setting: many, Pace: many.pace()})
	}
	for i := range b.repetitions {
		if err := c.repeat(r, i); err != nil {
			return nil, err
		}
	}
	if !b.quick && !b.silent {
		c.note("%d rows on %d replicas", millionRows, millionReplicas)
		m, err := c.million(millionRows, millionReplicas, nil)
		if err != nil {
			return nil, fmt.Errorf("%d rows on %d replicas: %w", millionRows, millionReplicas, err)
		}
		r.Million = &m
	}
	return r, nil
}

// servers starts PostgreSQL and Redis.
func (b *bench) servers() (_ *cluster, end func() error, err error) {
	c := &cluster{bench: b}
	if c.postgres, err = startPostgres(b.ctx, filepath.Join(b.dir, "postgres")); err != nil {
		return nil, nil, err
	}
	if c.redis, err = startRedis(b.ctx, filepath.Join(b.dir, "redis")); err != nil {
		return nil, nil, errors.Join(err, c.postgres.end())
	}
	return c, func() error { return errors.Join(c.redis.end(), c.postgres.end()) }, nil
}

// repeat measures everything once. Compared measurements follow each other directly, and their
// order alternates between repetitions.
func (c *cluster) repeat(r *shared, i int) error {
	c.note("repetition %d of %d: %d messages of one replica and of the bare loop", i+1, c.repetitions, c.messages)
	var got [2]sent
	for k := range got {
		side := (k + i) % 2
		measure := func() (sent, error) { return c.bareLoop(r.One.Batch) }
		if side == 1 {
			measure = func() (sent, error) { return c.alone(r) }
		}
		var err error
		if got[side], err = measure(); err != nil {
			return fmt.Errorf("one replica beside the bare loop: %w", err)
		}
	}
	if got[0].Bytes != got[1].Bytes {
		return fmt.Errorf("the bare loop posted %d bytes, campaignd %d: the requests differ", got[0].Bytes, got[1].Bytes)
	}
	one := r.One
	one.Bare, one.Campaignd = append(one.Bare, got[0]), append(one.Campaignd, got[1])
	one.Ratio = ratio(one.Campaignd, one.Bare, sent.perSecond)
	one.CPURatio = ratio(one.Campaignd, one.Bare, sent.perMessage)
	if c.silent {
		return nil
	}
	for k := range r.Replicas {
		f := r.Replicas[k]
		if i%2 == 1 {
			f = r.Replicas[len(r.Replicas)-1-k]
		}
		c.note("four numbers of %v/s, sent over for %v by %d, with limits: %v", f.Rate, c.period, f.Replicas, f.Limits)
		s, err := c.share(f.setting)
		if err != nil {
			return fmt.Errorf("%d replicas: %w", f.Replicas, err)
		}
		bare, err := c.bareFleet(f.setting)
		if err != nil {
			return fmt.Errorf("%d bare loops: %w", f.Replicas, err)
		}
		f.Periods, f.Bare = append(f.Periods, s), append(f.Bare, bare)
		f.CPURatio = ratio(f.Periods, f.Bare, period.perMessage)
	}
	c.note("importing %d rows beside psql's \\copy", c.rows)
	copied, err := c.copying()
	if err != nil {
		return fmt.Errorf("importing: %w", err)
	}
	r.Copy = append(r.Copy, copied)
	c.note("applying statuses")
	applied, err := c.applying()
	if err != nil {
		return fmt.Errorf("applying statuses: %w", err)
	}
	r.Events = append(r.Events, applied)
	return nil
}

// alone measures one replica that no rate limits, and the size of its ledger.
func (c *cluster) alone(r *shared) (sent, error) {
	return c.onPostgres(r.One.Batch, c.messages, productJob{}, func(db string) error { return c.perDelivery(r, db) })
}

// clusterProfiles prints CPU profiles of one replica that no rate limits.
func (b *bench) clusterProfiles(out io.Writer) (err error) {
	c, end, err := b.servers()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	return b.profiles(out, func(batch, rows int, with productJob) (sent, error) {
		return c.onPostgres(batch, rows, with, func(string) error { return nil })
	})
}

// onPostgres measures one replica that no rate limits. It calls then before the database is
// dropped. Callers set only the members Limits and Profile of with.
func (c *cluster) onPostgres(batch, rows int, with productJob, then func(db string) error) (s sent, err error) {
	file, list, err := c.list(rows)
	if with.Limits && err == nil {
		file, err = c.capped()
	}
	if err != nil {
		return s, err
	}
	db, err := c.database()
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, c.dropDatabase(db)) }()
	if _, err := c.redis.ask("FLUSHALL"); err != nil {
		return s, err
	}
	pid, err := c.postgres.pid()
	if err != nil {
		return s, err
	}
	if s, err = c.against(batch, rows, "campaignd", func(sink string) any {
		with.Sink, with.File, with.List, with.Ledger, with.Redis = sink, file, list, c.postgres.url(db), c.redisURL()
		with.Rate, with.InFlight, with.Silent, with.Postgres = unpaced, c.workers/connections, batch == silence, pid
		return with
	}); err != nil {
		return s, err
	}
	return s, then(db)
}

// perDelivery adds the bytes of each table for a delivery, and their sum.
func (c *cluster) perDelivery(r *shared, db string) error {
	out, err := c.postgres.psql(c.ctx, db, `SELECT relname, pg_total_relation_size(oid) FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`)
	if err != nil {
		return err
	}
	total := 0.0
	for line := range strings.Lines(out) {
		table, size, _ := strings.Cut(strings.TrimSpace(line), "|")
		bytes, err := strconv.ParseFloat(size, 64)
		if err != nil {
			return err
		}
		total += bytes / float64(c.messages)
		r.BytesPerDelivery[table] = bytes / float64(c.messages)
	}
	r.BytesPerDelivery["total"] = total
	return nil
}

func (c *cluster) redisURL() string { return "redis://" + c.redis.addr + "/0" }

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
