package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/daemon"
	"campaignd/throttle"
)

const (
	slowAnswer  = 100 * time.Millisecond // the answer time of a real service
	warmUp      = 3 * time.Second        // between the first message and the measurement
	segmentRows = 512
	// sharedRows is enough for four replicas, which hold two segments of each of four numbers and
	// claim the next ones before those end.
	sharedRows = 80 * segmentRows
)

// setting is the number of replicas that share four numbers, and the rate of each number in
// messages per second.
type setting struct {
	Replicas int
	Rate     float64
	Limits   bool // a tier that all numbers share, an allowance and a frequency cap
}

// settings holds the measured settings. In the last one, one replica has the rate of each of four
// replicas: at a low rate the processor sleeps between messages and its caches are cold, so a
// message costs more CPU time also without other replicas.
var settings = []setting{
	{Replicas: 1, Rate: 100}, {Replicas: 2, Rate: 100}, {Replicas: 4, Rate: 100}, {Replicas: 4, Rate: 100, Limits: true},
	{Replicas: 1, Rate: 25},
}

// pace returns the pace of all numbers together. It is below their limits by a margin and by the
// share for inbound messages (docs/limits.md#pace).
func (c setting) pace() float64 { return connections * throttle.Number{Limit: c.Rate}.Pace().Rate }

// playReplica runs `campaignd serve`. Its first answer is its webhook address, and each later
// answer is a sample.
func playReplica(ctx context.Context, in *json.Decoder, out *json.Encoder) (err error) {
	var job productJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	cfg := job.config()
	cfg.Campaigns = job.Campaigns
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	d, err := daemon.New(ctx, cfg, daemon.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	addresses, served := make(chan [2]string, 1), make(chan error, 1)
	go func() {
		served <- d.Serve(ctx, func(public, admin string) { addresses <- [2]string{public, admin} })
	}()
	var admin string
	select {
	case a := <-addresses:
		admin = a[1]
		if err := out.Encode(a[0]); err != nil {
			return err
		}
	case err := <-served:
		return err
	}
	for in.Decode(&struct{}{}) == nil {
		select {
		case err := <-served:
			return fmt.Errorf("a replica ended: %w", err)
		default:
		}
		var s sample
		if s.CPU, err = cpu(); err != nil {
			return err
		}
		if s.Posts, err = posts(ctx, admin); err != nil {
			return err
		}
		if s.Peak, err = peak(); err != nil {
			return err
		}
		if err := out.Encode(s); err != nil {
			return err
		}
	}
	return <-served // ctx has ended with the input
}

// sample is what a replica has used and sent so far.
type sample struct {
	CPU   time.Duration
	Posts int64
	Peak  int64 // bytes
}

// posts returns how many messages a replica has posted, from its metrics.
func posts(ctx context.Context, admin string) (n int64, err error) {
	body, err := ask(ctx, "GET", admin+"/metrics", "")
	if err != nil {
		return 0, err
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "campaignd_posts_total{") {
			continue
		}
		value := lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:]
		one, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		n += int64(one)
	}
	return n, lines.Err()
}

// period holds the figures of some replicas for a time. CPU times are microseconds per message.
type period struct {
	PerSecond   float64   // messages that the service accepted
	CPU         float64   // of all replicas together
	Each        []float64 // CPU time of each replica, per message of its own
	Posts       []int64   // messages of each replica
	DatabaseCPU float64
	SinkCPU     float64
	RedisCalls  float64 // scripts per message
	Commits     float64 // transactions of PostgreSQL per message
	Refused     int64   // webhook POSTs that were repeated
}

// running holds the running replicas with their database and their service.
type running struct {
	*cluster
	database string
	service  *child
	sink     string // address of the service
	replicas []*child
	targets  []string // the replicas' addresses for webhooks
}

// serve starts n replicas and their service.
func (c *cluster) serve(n int, service sinkJob, job productJob) (_ *running, err error) {
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
	for range n {
		if err := f.join(job); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// join starts one more replica.
func (f *running) join(job productJob) error {
	job.Sink, job.Ledger, job.Redis = f.sink, f.postgres.url(f.database), f.redisURL()
	r, err := f.start("replica", job)
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

// share lets replicas send one run over four numbers and measures a period of it.
func (c *cluster) share(many setting) (s period, err error) {
	file, list, err := c.list(sharedRows)
	if err != nil {
		return s, err
	}
	if many.Limits {
		if file, err = c.capped(); err != nil {
			return s, err
		}
	}
	none := filepath.Join(c.dir, "no campaigns")
	f, err := c.serve(many.Replicas, sinkJob{Batch: 64, Posters: c.posters, Delay: slowAnswer},
		productJob{Campaigns: none, Rate: many.Rate, InFlight: c.workers, Limits: many.Limits})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	pid, err := c.postgres.pid()
	if err != nil {
		return s, err
	}
	var got loaded
	job := loadJob{importJob: importJob{File: file, List: list, Ledger: c.postgres.url(f.database)}, SegmentRows: segmentRows}
	if err := c.once("load", job, &got); err != nil {
		return s, err
	}
	for end := time.Now().Add(time.Minute); ; {
		seen, err := readFigures(c.ctx, f.sink)
		if err != nil {
			return s, err
		}
		if seen.Accepted > 0 {
			break
		}
		if time.Now().After(end) {
			return s, fmt.Errorf("%d replicas have sent nothing within a minute", many.Replicas)
		}
		if err := c.pause(50 * time.Millisecond); err != nil {
			return s, err
		}
	}
	if err := c.pause(warmUp); err != nil {
		return s, err
	}
	before, err := f.state(pid)
	if err != nil {
		return s, err
	}
	if err := c.pause(c.period); err != nil {
		return s, err
	}
	after, err := f.state(pid)
	if err != nil {
		return s, err
	}
	if s = after.since(before); s.PerSecond == 0 {
		return s, fmt.Errorf("%d replicas sent nothing while they were measured", many.Replicas)
	}
	return s, nil
}

// state holds all counts at one moment.
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

// pause waits for d, and returns an error when the program is to end.
func (b *bench) pause(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}
