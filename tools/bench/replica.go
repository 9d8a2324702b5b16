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
)

// What the replicas share: the rate of each of four numbers, and a service that answers as slowly as a real one.
const (
	numberRate  = 100 // messages per second
	slowAnswer  = 100 * time.Millisecond
	warmUp      = 3 * time.Second
	segmentRows = 512
	// Four replicas hold two segments of each of four numbers, and take the next before those end.
	sharedRows = 80 * segmentRows
)

// fleets are how many replicas are measured.
var fleets = []int{1, 2, 4}

// playReplica is `campaignd serve`. It answers its webhook address, and then each question with a sample.
func playReplica(ctx context.Context, in *json.Decoder, out *json.Encoder) (err error) {
	var job productJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	cfg := job.config()
	cfg.Campaigns = filepath.Join(filepath.Dir(job.File), "no campaigns")
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
	Refused     int64   // webhook POSTs that were repeated
}

// share lets n replicas send one run over four numbers and watches them once they are under way.
func (c *cluster) share(n int) (s spell, err error) {
	file, list, err := c.list(sharedRows)
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
	service, err := c.start("sink", sinkJob{Batch: 64, Posters: c.posters, Delay: slowAnswer})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, service.end()) }()
	var sink string
	if err := service.receive(&sink); err != nil {
		return s, err
	}
	pid, err := c.postgres.pid()
	if err != nil {
		return s, err
	}
	var replicas []*child
	defer func() {
		for _, r := range replicas {
			_ = r.finish() // all at once; end reports
		}
		for _, r := range replicas {
			err = errors.Join(err, r.end())
		}
	}()
	var targets []string
	for range n {
		r, err := c.start("replica", productJob{Sink: sink, File: file, Ledger: c.postgres.url(db), Redis: c.redisURL(), Rate: numberRate, InFlight: c.workers})
		if err != nil {
			return s, err
		}
		replicas = append(replicas, r)
		var target string
		if err := r.receive(&target); err != nil {
			return s, err
		}
		targets = append(targets, target)
	}
	if err := register(c.ctx, sink, strings.Join(targets, "\n")); err != nil {
		return s, err
	}
	var got loaded
	if err := c.once("load", loadJob{importJob: importJob{File: file, List: list, Ledger: c.postgres.url(db)}, SegmentRows: segmentRows}, &got); err != nil {
		return s, err
	}
	for end := time.Now().Add(time.Minute); ; {
		f, err := readFigures(c.ctx, sink)
		if err != nil {
			return s, err
		}
		if f.Accepted > 0 {
			break
		}
		if time.Now().After(end) {
			return s, fmt.Errorf("%d replicas have sent nothing within a minute", n)
		}
		if err := c.pause(50 * time.Millisecond); err != nil {
			return s, err
		}
	}
	if err := c.pause(warmUp); err != nil {
		return s, err
	}
	before, err := c.look(sink, pid, replicas)
	if err != nil {
		return s, err
	}
	if err := c.pause(c.spell); err != nil {
		return s, err
	}
	after, err := c.look(sink, pid, replicas)
	if err != nil {
		return s, err
	}
	if s = after.since(before); s.PerSecond == 0 {
		return s, fmt.Errorf("%d replicas sent nothing while they were watched", n)
	}
	return s, nil
}

// state is everybody's counts at one moment.
type state struct {
	at       time.Time
	sink     figures
	scripts  int64
	database time.Duration
	replicas []sample
}

func (c *cluster) look(sink string, postgres int, replicas []*child) (s state, err error) {
	for _, r := range replicas {
		var one sample
		if err := json.NewEncoder(r.in).Encode(struct{}{}); err != nil {
			return s, err
		}
		if err := r.receive(&one); err != nil {
			return s, err
		}
		s.replicas = append(s.replicas, one)
	}
	if s.scripts, err = c.redis.scripts(); err != nil {
		return s, err
	}
	s.database = serverCPU(postgres)
	s.at = time.Now()
	s.sink, err = readFigures(c.ctx, sink)
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
