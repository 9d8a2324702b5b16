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

// A service that answers as slowly as a real one, and the list that is sent.
const (
	slowAnswer  = 100 * time.Millisecond
	warmUp      = 3 * time.Second
	segmentRows = 512
	// Four replicas hold two segments of each of four numbers, and take the next before those end.
	sharedRows = 80 * segmentRows
)

// crowd is how many replicas share four numbers, and the rate of each number, messages per second.
type crowd struct {
	Replicas int
	Rate     float64
}

// crowds are those that are measured. The last has the rate that each of four replicas has: whoever sends seldom finds the
// processor asleep and its caches cold, and pays more for a message, alone as well.
var crowds = []crowd{{1, 100}, {2, 100}, {4, 100}, {1, 25}}

// pace is what the numbers are paced at together: less than their limits, by a margin and by what is left for inbound messages.
func (c crowd) pace() float64 { return connections * throttle.Number{Limit: c.Rate}.Pace().Rate }

// playReplica is `campaignd serve`. It answers its webhook address, and then each question with a sample.
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
	return <-served // the end of the input has ended ctx
}

// sample is what a replica has used and sent so far.
type sample struct {
	CPU   time.Duration
	Posts int64
	Peak  int64 // bytes
}

// posts reads from a replica's metrics how many messages it has posted.
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

// spell is what so many replicas did together for a while.
type spell struct {
	PerSecond   float64   // messages that the service took
	CPU         float64   // microseconds per message, of all replicas together
	Each        []float64 // the same, of each alone
	Posts       []int64   // of each
	DatabaseCPU float64   // the same, of PostgreSQL
	SinkCPU     float64
	RedisCalls  float64 // scripts per message
	Commits     float64 // transactions of PostgreSQL per message
	Refused     int64   // webhook POSTs that were repeated
}

// running is a fleet at work: replicas over a database of their own, and the service that they send to.
type running struct {
	*cluster
	database string
	service  *child
	sink     string // its address
	replicas []*child
}

// serve starts n replicas and their service. The job says how they send; where everything is, is added.
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
	job.Sink, job.Ledger, job.Redis = f.sink, c.postgres.url(f.database), c.redisURL()
	var targets []string
	for range n {
		r, err := c.start("replica", job)
		if err != nil {
			return nil, err
		}
		f.replicas = append(f.replicas, r)
		var target string
		if err := r.receive(&target); err != nil {
			return nil, err
		}
		targets = append(targets, target)
	}
	return f, register(c.ctx, f.sink, strings.Join(targets, "\n"))
}

// end ends what was started.
func (f *running) end() (err error) {
	for _, r := range f.replicas {
		_ = r.finish() // all at once; end reports
	}
	for _, r := range f.replicas {
		err = errors.Join(err, r.end())
	}
	if f.service != nil {
		err = errors.Join(err, f.service.end())
	}
	if f.database != "" {
		err = errors.Join(err, f.dropDatabase(f.database))
	}
	return err
}

// share lets replicas send one run over four numbers and watches them once they are under way.
func (c *cluster) share(many crowd) (s spell, err error) {
	file, list, err := c.list(sharedRows)
	if err != nil {
		return s, err
	}
	none := filepath.Join(c.dir, "no campaigns")
	f, err := c.serve(many.Replicas, sinkJob{Batch: 64, Posters: c.posters, Delay: slowAnswer}, productJob{Campaigns: none, Rate: many.Rate, InFlight: c.workers})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	pid, err := c.postgres.pid()
	if err != nil {
		return s, err
	}
	var got loaded
	if err := c.once("load", loadJob{importJob: importJob{File: file, List: list, Ledger: c.postgres.url(f.database)}, SegmentRows: segmentRows}, &got); err != nil {
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
	before, err := f.look(pid)
	if err != nil {
		return s, err
	}
	if err := c.pause(c.spell); err != nil {
		return s, err
	}
	after, err := f.look(pid)
	if err != nil {
		return s, err
	}
	if s = after.since(before); s.PerSecond == 0 {
		return s, fmt.Errorf("%d replicas sent nothing while they were watched", many.Replicas)
	}
	return s, nil
}

// state is everybody's counts at one moment.
type state struct {
	at       time.Time
	sink     figures
	scripts  int64
	database time.Duration
	commits  int64
	replicas []sample
}

func (f *running) look(postgres int) (s state, err error) {
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

// since is what happened between two moments.
func (s state) since(before state) (p spell) {
	messages := float64(s.sink.Accepted - before.sink.Accepted)
	if messages == 0 {
		return p
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / messages }
	var all time.Duration
	for i := range s.replicas {
		used, posts := s.replicas[i].CPU-before.replicas[i].CPU, s.replicas[i].Posts-before.replicas[i].Posts
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

// pause waits, unless the program is to end.
func (b *bench) pause(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}
