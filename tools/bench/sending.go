//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// silence in place of a batch means that the service posts no webhooks.
const silence = 0

// batches are the numbers of statuses in one POST.
func (o *options) batches() []int {
	if o.silent {
		return []int{silence}
	}
	return []int{1, 64}
}

// most is the largest of batches.
func (o *options) most() int { return slices.Max(o.batches()) }

// stagesOf is how many statuses each message gets.
func stagesOf(batch int) int {
	if batch == silence {
		return 0
	}
	return len(stages)
}

// how describes a batch.
func how(batch int) string {
	switch batch {
	case silence:
		return "none"
	case 1:
		return "singly"
	}
	return fmt.Sprintf("by %d", batch)
}

// sent is one measurement of sending. CPU times are microseconds per message.
type sent struct {
	Messages      int64
	PerSecond     float64 // messages per second, until the last status was answered, or the last message
	CPU           float64 // of the measured process
	SinkCPU       float64 // of the sink
	DatabaseCPU   float64 `json:",omitempty"` // of PostgreSQL
	Peak          int64   // peak memory in bytes
	Refused       int64   // webhook POSTs that were not answered 2xx, and repeated
	Bytes         int64   // bytes of all request bodies
	HeaderBytes   int64
	AcceptSeconds float64 // from the first message to the last answer
}

// sending measures the sides at each batch size, one directly after the other.
func (b *bench) sending(r *results) error {
	for i := range b.repetitions {
		for _, batch := range b.batches() {
			b.note("sending %d messages, statuses %s, repetition %d of %d", b.messages, how(batch), i+1, b.repetitions)
			sides := []func(int) (sent, error){b.bareLoop, b.campaignd, b.limited}
			var got [3]sent
			for k := range sides {
				side := (k + i) % len(sides) // the order alternates between repetitions
				var err error
				if got[side], err = sides[side](batch); err != nil {
					return err
				}
			}
			if got[0].Bytes != got[1].Bytes {
				return fmt.Errorf("the bare loop posted %d bytes, campaignd %d: the requests differ", got[0].Bytes, got[1].Bytes)
			}
			r.add(batch, got[0], got[1], got[2])
		}
	}
	return nil
}

// bareLoop measures the bare loop.
func (b *bench) bareLoop(batch int) (s sent, err error) {
	return b.against(batch, b.messages, "bare", func(sink string) any {
		return bareJob{Sink: sink, Messages: b.messages, Workers: b.workers}
	})
}

// campaignd measures campaignd.
func (b *bench) campaignd(batch int) (sent, error) { return b.product(batch, b.messages, productJob{}) }

// limited measures campaignd with a tier, an allowance and a frequency cap, none of which limits
// the rate.
func (b *bench) limited(batch int) (sent, error) {
	return b.product(batch, b.messages, productJob{Limits: true})
}

// product measures campaignd with an SQLite ledger. Callers set only the members Limits and Profile
// of with; product sets what else it needs.
func (b *bench) product(batch, rows int, with productJob) (s sent, err error) {
	file, list, err := b.list(rows)
	if with.Limits && err == nil {
		file, err = b.capped()
	}
	if err != nil {
		return s, err
	}
	ledger := b.ledger()
	defer func() { err = errors.Join(err, drop(ledger)) }()
	return b.against(batch, rows, "campaignd", func(sink string) any {
		with.Sink, with.File, with.List, with.Ledger = sink, file, list, "sqlite:"+ledger
		with.Rate, with.InFlight, with.Silent = unpaced, b.workers/connections, batch == silence
		return with
	})
}

// against measures a child that sends n messages to a sink of its own.
func (b *bench) against(batch, n int, role string, job func(sink string) any) (s sent, err error) {
	service, err := b.start("sink", sinkJob{Batch: batch, Posters: b.posters, Delay: b.delay})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, service.end()) }()
	var url string
	if err := service.receive(&url); err != nil {
		return s, err
	}
	c, err := b.start(role, job(url))
	if err != nil {
		return s, err
	}
	if role == "bare" {
		if err := b.await(url, n, stagesOf(batch)); err != nil {
			return s, errors.Join(err, c.end())
		}
		if err := c.finish(); err != nil {
			return s, err
		}
	}
	var used spent
	if err := errors.Join(c.receive(&used), c.end()); err != nil {
		return s, err
	}
	f, err := readFigures(b.ctx, url)
	if err != nil {
		return s, err
	}
	rows, statuses := int64(n), int64(n*stagesOf(batch))
	if f.Accepted != rows || f.Acked != statuses || role == "campaignd" && batch != silence && used.Delivered != rows {
		return s, fmt.Errorf("%s: %d of %d messages were accepted, %d of %d statuses answered, %d are read in the report",
			role, f.Accepted, n, f.Acked, statuses, used.Delivered)
	}
	wall := time.Duration(f.LastAccepted - f.First)
	if batch != silence { // the delay of the last status is the same for both sides and does not count
		wall = time.Duration(f.Last-f.First) - stages[len(stages)-1].after
	}
	return sent{
		Messages: rows, PerSecond: float64(n) / wall.Seconds(), CPU: float64(used.CPU.Microseconds()) / float64(n),
		DatabaseCPU: float64(used.Database.Microseconds()) / float64(n),
		SinkCPU:     f.SinkMicroseconds / float64(n), Peak: used.Peak, Refused: f.Refused,
		Bytes: f.Bytes, HeaderBytes: f.RequestHeaderBytes,
		AcceptSeconds: time.Duration(f.LastAccepted - f.First).Seconds(),
	}, nil
}

// await waits until n messages are accepted, and so many statuses of each are answered.
func (b *bench) await(sink string, n, each int) error {
	end := time.Now().Add(b.deadline)
	for {
		f, err := readFigures(b.ctx, sink)
		if err != nil {
			return err
		}
		if f.Accepted >= int64(n) && f.Acked >= int64(n*each) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d messages were accepted and %d of %d statuses answered within %v",
				f.Accepted, n, f.Acked, n*each, b.deadline)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-b.ctx.Done():
			return b.ctx.Err()
		}
	}
}

// memory measures the memory of runs of many rows.
func (b *bench) memory(r *results) error {
	sizes := []int{100_000, 1_000_000}
	if b.quick {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		b.note("importing and sending %d rows, statuses %s", n, how(b.most()))
		s, err := b.product(b.most(), n, productJob{})
		if err != nil {
			return err
		}
		r.Memory = append(r.Memory, memoryUse{Rows: int64(n), Peak: s.Peak, PerSecond: s.PerSecond, CPU: s.CPU})
	}
	return nil
}

// profiles prints CPU profiles of a campaignd that sends by one of the functions product and
// onPostgres.
func (b *bench) profiles(out io.Writer, send func(batch, rows int, with productJob) (sent, error)) error {
	for _, batch := range b.batches() {
		path := filepath.Join(os.TempDir(), fmt.Sprintf("campaignd-bench-%d.prof", batch))
		b.note("sending %d messages with a profile, statuses %s", b.messages, how(batch))
		s, err := send(batch, b.messages, productJob{Profile: path, Limits: b.limits})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "campaignd, statuses %s: %.0f messages/s, %.0f accepted/s, "+
			"%.1f us of CPU per message, PostgreSQL %.1f; the profile is %s\n",
			how(batch), s.PerSecond, float64(s.Messages)/s.AcceptSeconds, s.CPU, s.DatabaseCPU, path)
		for _, order := range []string{"-flat", "-cum"} {
			top := exec.CommandContext(b.ctx, "go", "tool", "pprof", "-top", order, "-nodecount=12", path)
			top.Stdout, top.Stderr = out, io.Discard
			if err := top.Run(); err != nil {
				return fmt.Errorf("go tool pprof %s %s: %w", order, path, err)
			}
			fmt.Fprintln(out)
		}
	}
	return nil
}
