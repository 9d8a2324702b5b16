//go:build unix

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
	"campaignd/throttle/throughput"
)

const (
	slowAnswer  = 100 * time.Millisecond // the answer time of a real service
	warmUp      = 3 * time.Second        // between the first message and the measurement
	segmentRows = 512
	// sharedRows is enough for four replicas, which own two segments of each of four numbers and claim
	// the next ones before those end.
	sharedRows = 80 * segmentRows
)

// setting is the number of replicas that share four numbers, and the rate of each number in
// messages per second.
type setting struct {
	Replicas int
	Rate     float64
	Limits   bool // a tier that all numbers share, an allowance and a frequency cap
}

// settings are the measured settings. In the last one, one replica has the rate of each of four
// replicas. At such a rate the processor is in a sleep state between messages and its caches are
// empty, so a message costs more CPU time also without other replicas.
var settings = []setting{
	{Replicas: 1, Rate: 100}, {Replicas: 2, Rate: 100}, {Replicas: 4, Rate: 100}, {Replicas: 4, Rate: 100, Limits: true},
	{Replicas: 1, Rate: 25},
}

// pace returns the pace of all numbers together. It is below their limits by a margin and by the
// share for inbound messages (docs/limits.md#pace).
func (c setting) pace() float64 { return connections * throughput.Number{Limit: c.Rate}.Pace().Rate }

// runReplica runs `campaignd serve`. Its first answer is its webhook address, and each later
// answer is a sample.
func runReplica(ctx context.Context, in *json.Decoder, out *json.Encoder) (err error) {
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
	var got loaded
	job := loadJob{importJob: importJob{File: file, List: list, Ledger: c.postgres.url(f.database)}, SegmentRows: segmentRows}
	if err := c.once("load", job, &got); err != nil {
		return s, err
	}
	return f.measure()
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
