//go:build unix

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	slowAnswer  = 100 * time.Millisecond // the answer time of a real service
	warmUp      = 3 * time.Second        // between the first message and the measurement
	segmentRows = 512
	// sharedRows is enough for four replicas, which own two segments of each of four numbers and claim
	// the next ones before those end.
	sharedRows = 80 * segmentRows
)

// running is a set of running replicas or bare loops, with their database and their service.
type running struct {
	*cluster
	database string
	service  *child
	sink     string // address of the service
	replicas []*child
	targets  []string // the replicas' addresses for webhooks
}

// fleet starts a service and n replicas of campaignd with a database. Other processes may join.
func (c *cluster) fleet(service sinkJob, n int, job productJob) (_ *running, err error) {
	f := &running{cluster: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.end())
		}
	}()
	if f.database, err = c.database(); err != nil {
		return nil, err
	}
	if _, err := c.askRedis("FLUSHALL"); err != nil {
		return nil, err
	}
	if f.service, err = c.start("sink", service); err != nil {
		return nil, err
	}
	if err := f.service.receive(&f.sink); err != nil {
		return nil, err
	}
	for range n {
		if err := f.replica(job); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// replica starts one more replica of campaignd.
func (f *running) replica(job productJob) error {
	job.Sink, job.Ledger, job.Redis = f.sink, f.postgres.URL(f.database), f.redis.URL(0)
	return f.join("replica", job)
}

// join starts one more process that sends.
func (f *running) join(role string, job any) error {
	r, err := f.start(role, job)
	if err != nil {
		return err
	}
	f.replicas = append(f.replicas, r)
	var target string
	if err := r.receive(&target); err != nil {
		return err
	}
	f.targets = append(f.targets, target)
	if err := register(f.ctx, f.sink, strings.Join(f.targets, "\n")); err != nil {
		return err
	}
	_, err = r.sample() // a bare loop begins now
	return err
}

// end ends the replicas and the service, and drops the database.
func (f *running) end() (err error) {
	err = f.endReplicas()
	if f.service != nil {
		err = errors.Join(err, f.service.end())
	}
	if f.database != "" {
		err = errors.Join(err, f.dropDatabase(f.database))
	}
	return err
}

// endReplicas ends all replicas at the same time.
func (f *running) endReplicas() (err error) {
	for _, r := range f.replicas {
		_ = r.finish() // end returns its error
	}
	for _, r := range f.replicas {
		err = errors.Join(err, r.end())
	}
	f.replicas = nil
	return err
}

// ask returns the answer of the database.
func (f *running) ask(statements ...string) (string, error) {
	return f.postgres.psql(f.ctx, f.database, statements...)
}

// number returns the whole number that the database answers.
func (f *running) number(statement string) (int64, error) {
	text, err := f.ask(statement)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// under waits until the service has accepted so many messages.
func (f *running) under(way int64, limit time.Duration) error {
	for end := time.Now().Add(limit); ; {
		seen, err := readFigures(f.ctx, f.sink)
		if err != nil || seen.Accepted >= way {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes sent %d messages within %v; want %d", len(f.replicas), seen.Accepted, limit, way)
		}
		if err := f.pause(50 * time.Millisecond); err != nil {
			return err
		}
	}
}

// period has the figures of some replicas for a time. CPU times are microseconds per message.
type period struct {
	perSecond   float64 // messages that the service accepted
	cpu         float64 // of all replicas together
	databaseCPU float64
	sinkCPU     float64
	redisCalls  float64 // scripts per message
	commits     float64 // transactions of PostgreSQL per message
}

// measure waits for the first message and for warmUp, and measures a period.
func (f *running) measure() (p period, err error) {
	if err := errors.Join(f.under(1, time.Minute), f.pause(warmUp)); err != nil {
		return p, err
	}
	before, err := f.state()
	if err != nil {
		return p, err
	}
	if err := f.pause(f.period); err != nil {
		return p, err
	}
	after, err := f.state()
	if err != nil {
		return p, err
	}
	if p = after.since(before); p.perSecond == 0 {
		return p, fmt.Errorf("%d processes sent nothing while they were measured", len(f.replicas))
	}
	return p, nil
}

// state has all counts at one moment.
type state struct {
	at               time.Time
	sink             figures
	scripts, commits int64
	cpu, database    time.Duration // of all replicas together; of PostgreSQL
}

// state reads all counts.
func (f *running) state() (s state, err error) {
	for _, r := range f.replicas {
		one, err := r.sample()
		if err != nil {
			return s, err
		}
		s.cpu += one.CPU
	}
	if s.scripts, err = f.scripts(); err != nil {
		return s, err
	}
	s.database = serverCPU(f.pid)
	if s.commits, err = f.number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"); err != nil {
		return s, err
	}
	s.at = time.Now()
	s.sink, err = readFigures(f.ctx, f.sink)
	return s, err
}

// since returns the figures of the period between two states.
func (s state) since(before state) (p period) {
	messages := float64(s.sink.Accepted - before.sink.Accepted)
	if messages == 0 {
		return p
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / messages }
	return period{
		perSecond: messages / s.at.Sub(before.at).Seconds(), cpu: each(s.cpu - before.cpu), databaseCPU: each(s.database - before.database),
		sinkCPU: (s.sink.SinkMicroseconds - before.sink.SinkMicroseconds) / messages,
		commits: float64(s.commits-before.commits) / messages, redisCalls: float64(s.scripts-before.scripts) / messages,
	}
}
