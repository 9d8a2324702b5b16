//go:build unix

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// period has the figures of some replicas for a time. CPU times are microseconds per message.
type period struct {
	PerSecond   float64   // messages that the service accepted
	CPU         float64   // of all replicas together
	Each        []float64 // CPU time of each replica, per message of its own
	Posts       []int64   // messages of each replica
	DatabaseCPU float64
	SinkCPU     float64
	RedisCalls  float64 // scripts per message
	Commits     float64 // transactions of PostgreSQL per message
	Refused     int64   // webhook POSTs that were not answered 2xx, and repeated
}

// running is a set of running replicas or bare loops, with their database and their service.
type running struct {
	*cluster
	database string
	service  *child
	sink     string // address of the service
	replicas []*child
	targets  []string // the replicas' addresses for webhooks
}

// serve starts n replicas and their service.
func (c *cluster) serve(n int, service sinkJob, job productJob) (*running, error) {
	f, err := c.fleet(service)
	if err != nil {
		return nil, err
	}
	for range n {
		if err := f.replica(job); err != nil {
			return nil, errors.Join(err, f.end())
		}
	}
	return f, nil
}

// fleet starts a service and makes a database, for processes that join it.
func (c *cluster) fleet(service sinkJob) (_ *running, err error) {
	f := &running{cluster: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.end())
		}
	}()
	if f.database, err = c.database(); err != nil {
		return nil, err
	}
	if _, err := c.redis.ask("FLUSHALL"); err != nil {
		return nil, err
	}
	if f.service, err = c.start("sink", service); err != nil {
		return nil, err
	}
	if err := f.service.receive(&f.sink); err != nil {
		return nil, err
	}
	return f, nil
}

// replica starts one more replica of campaignd.
func (f *running) replica(job productJob) error {
	job.Sink, job.Ledger, job.Redis = f.sink, f.postgres.url(f.database), f.redisURL()
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
	return register(f.ctx, f.sink, strings.Join(f.targets, "\n"))
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

// measure waits for the first message and for warmUp, and measures a period.
func (f *running) measure() (s period, err error) {
	pid, err := f.postgres.pid()
	if err != nil {
		return s, err
	}
	for end := time.Now().Add(time.Minute); ; {
		seen, err := readFigures(f.ctx, f.sink)
		if err != nil {
			return s, err
		}
		if seen.Accepted > 0 {
			break
		}
		if time.Now().After(end) {
			return s, fmt.Errorf("%d processes have sent nothing within a minute", len(f.replicas))
		}
		if err := f.pause(50 * time.Millisecond); err != nil {
			return s, err
		}
	}
	if err := f.pause(warmUp); err != nil {
		return s, err
	}
	before, err := f.state(pid)
	if err != nil {
		return s, err
	}
	if err := f.pause(f.period); err != nil {
		return s, err
	}
	after, err := f.state(pid)
	if err != nil {
		return s, err
	}
	if s = after.since(before); s.PerSecond == 0 {
		return s, fmt.Errorf("%d processes sent nothing while they were measured", len(f.replicas))
	}
	return s, nil
}

// state has all counts at one moment.
type state struct {
	at       time.Time
	sink     figures
	scripts  int64
	database time.Duration
	commits  int64
	replicas []sample
}

// state reads all counts. postgres is the process id of the server.
func (f *running) state(postgres int) (s state, err error) {
	for _, r := range f.replicas {
		one, err := r.sample()
		if err != nil {
			return s, err
		}
		s.replicas = append(s.replicas, one)
	}
	if s.scripts, err = f.redis.scripts(); err != nil {
		return s, err
	}
	s.database = serverCPU(postgres)
	out, err := f.postgres.psql(f.ctx, f.database, "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
	if err != nil {
		return s, err
	}
	if s.commits, err = strconv.ParseInt(strings.TrimSpace(out), 10, 64); err != nil {
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
	var all time.Duration
	for i := range s.replicas {
		used := s.replicas[i].CPU - before.replicas[i].CPU
		posts := s.replicas[i].Posts - before.replicas[i].Posts
		all += used
		p.Posts = append(p.Posts, posts)
		p.Each = append(p.Each, float64(used.Microseconds())/float64(max(posts, 1)))
	}
	p.PerSecond, p.CPU, p.DatabaseCPU = messages/s.at.Sub(before.at).Seconds(), each(all), each(s.database-before.database)
	p.SinkCPU = (s.sink.SinkMicroseconds - before.sink.SinkMicroseconds) / messages
	p.Commits = float64(s.commits-before.commits) / messages
	p.RedisCalls = float64(s.scripts-before.scripts) / messages
	p.Refused = s.sink.Refused - before.sink.Refused
	return p
}
