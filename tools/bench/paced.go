//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// pacedJob is the job of a bare loop that posts at a rate until its input ends.
type pacedJob struct {
	Sink    string
	First   int     // index of its first recipient
	Rate    float64 // messages per second
	Workers int     // the largest number of requests at a time
}

// runPaced posts as a replica does: its first answer is its webhook address, and each later answer
// is a sample.
func runPaced(ctx context.Context, in *json.Decoder, out *json.Encoder) error {
	var job pacedJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	h, err := takeWebhooks(ctx)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := out.Encode(h.url); err != nil {
		return err
	}
	var posts atomic.Int64
	posted := make(chan error, 1)
	go func() { posted <- postPaced(ctx, job, &posts) }()
	for in.Decode(&struct{}{}) == nil {
		s := sample{Posts: posts.Load()}
		if s.CPU, err = cpu(); err != nil {
			return err
		}
		if s.Peak, err = peak(); err != nil {
			return err
		}
		if err := out.Encode(s); err != nil {
			return err
		}
	}
	return <-posted // ctx has ended with the input
}

// postPaced posts one message after another, evenly spaced, until ctx ends. It does not wait for an
// answer before the next message.
func postPaced(ctx context.Context, job pacedJob, posts *atomic.Int64) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	client := bareClient(job.Workers)
	defer client.CloseIdleConnections()
	var requests sync.WaitGroup
	defer requests.Wait()
	due := time.NewTicker(time.Duration(float64(time.Second) / job.Rate))
	defer due.Stop()
	for n := job.First; ; n++ {
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); cause != context.Canceled { //nolint:errorlint // the end of the input
				return cause
			}
			return nil
		case <-due.C:
		}
		requests.Go(func() {
			if err := bareSend(ctx, client, job.Sink, n); err != nil {
				stop(err) // no effect after the end of ctx
				return
			}
			posts.Add(1)
		})
	}
}

// bareFleet lets bare loops post over four numbers at the pace of a setting, and measures a period
// of it. Each has an equal part of the rate.
func (c *cluster) bareFleet(many setting) (s period, err error) {
	f, err := c.fleet(sinkJob{Batch: 64, Posters: c.posters, Delay: slowAnswer})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	for i := range many.Replicas {
		job := pacedJob{Sink: f.sink, First: i * sharedRows, Rate: many.pace() / float64(many.Replicas), Workers: c.workers}
		if err := f.join("paced", job); err != nil {
			return s, err
		}
	}
	return f.measure()
}
