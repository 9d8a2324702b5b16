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
	perSecond   float64 // messages per second, until the last status was answered, or the last message
	accepted    float64 // messages per second, until the last message was accepted
	cpu         float64 // of the measured process
	sinkCPU     float64
	databaseCPU float64 // of PostgreSQL
	peak        int64   // peak memory in bytes
	bytes       int64   // of all request bodies
}

// sending measures the sides at each batch size.
func (b *bench) sending() error {
	t := newTable("statuses", "", "messages/s", "CPU us/message", "of the sink")
	for i := range b.repetitions {
		for _, batch := range b.batches() {
			b.note("sending %d messages, statuses %s, repetition %d of %d", b.messages, how(batch), i+1, b.repetitions)
			var bare, product, limited sent
			if err := inTurn(i,
				func() (err error) { bare, err = b.bareLoop(batch); return err },
				func() (err error) { product, err = b.onSQLite(batch, b.messages, productJob{}); return err },
				func() (err error) { limited, err = b.onSQLite(batch, b.messages, productJob{Limits: true}); return err },
			); err != nil {
				return err
			}
			if bare.bytes != product.bytes {
				return fmt.Errorf("the bare loop posted %d bytes, campaignd %d: the requests differ", bare.bytes, product.bytes)
			}
			row := func(name string, values ...float64) { t.add(how(batch)+"\t"+name, values...) }
			row("bare net/http loop", bare.perSecond, bare.cpu, bare.sinkCPU)
			row("campaignd", product.perSecond, product.cpu, product.sinkCPU)
			row("with tier, allowance, cap", limited.perSecond, limited.cpu, limited.sinkCPU)
			row("campaignd / bare", product.perSecond/bare.perSecond, product.cpu/bare.cpu, blank)
			row("with limits / without", limited.perSecond/product.perSecond, limited.cpu/product.cpu, blank)
		}
	}
	return t.print(b.out, "Sending %d messages, %d in flight, to a sink in its own process on the same CPUs; "+
		"each message brings %d signed webhooks.", b.messages, b.workers, stagesOf(b.most()))
}

// bareLoop measures the bare loop.
func (b *bench) bareLoop(batch int) (sent, error) {
	return b.against(batch, b.messages, func(sink string) (used spent, err error) {
		c, err := b.start("bare", bareJob{Sink: sink, Messages: b.messages, Workers: b.workers})
		if err != nil {
			return used, err
		}
		defer func() { err = errors.Join(err, c.end()) }()
		var url string
		if err := errors.Join(c.receive(&url), register(b.ctx, sink, url)); err != nil {
			return used, err
		}
		before, err := c.sample()
		if err != nil {
			return used, err
		}
		if err := b.await(sink, b.messages, stagesOf(batch)); err != nil {
			return used, err
		}
		after, err := c.sample()
		return spent{CPU: after.CPU - before.CPU, Peak: after.Peak}, err
	})
}

// onSQLite measures campaignd with an SQLite ledger. Callers set only the members Limits and
// Profile of with.
func (b *bench) onSQLite(batch, rows int, with productJob) (s sent, err error) {
	ledger := b.ledger()
	defer func() { err = errors.Join(err, drop(ledger)) }()
	with.Ledger = "sqlite:" + ledger
	return b.product(batch, rows, with)
}

// product measures campaignd with the ledger of the job. It sets what else campaignd needs.
func (b *bench) product(batch, rows int, with productJob) (s sent, err error) {
	if with.Limits {
		with.File, with.List, err = b.inputs("capped", capped, rows)
	} else {
		with.File, with.List, err = b.inputs("bench", "", rows)
	}
	if err != nil {
		return s, err
	}
	with.Rate, with.InFlight, with.Silent = unpaced, b.workers/connections, batch == silence
	return b.against(batch, rows, func(sink string) (used spent, err error) {
		with.Sink = sink
		err = b.once("campaignd", with, &used)
		if err == nil && batch != silence && used.Delivered != int64(rows) {
			err = fmt.Errorf("%d of %d messages are read in the report", used.Delivered, rows)
		}
		return used, err
	})
}

// against measures a run that sends n messages to a new sink.
func (b *bench) against(batch, n int, run func(sink string) (spent, error)) (s sent, err error) {
	service, err := b.start("sink", sinkJob{Batch: batch, Delay: b.delay})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, service.end()) }()
	var url string
	if err := service.receive(&url); err != nil {
		return s, err
	}
	used, err := run(url)
	if err != nil {
		return s, err
	}
	f, err := readFigures(b.ctx, url)
	if err != nil {
		return s, err
	}
	if statuses := n * stagesOf(batch); f.Accepted != int64(n) || f.Acked != int64(statuses) {
		return s, fmt.Errorf("%d of %d messages were accepted, %d of %d statuses answered", f.Accepted, n, f.Acked, statuses)
	}
	accepted := time.Duration(f.LastAccepted - f.First)
	wall := accepted
	if batch != silence { // the delay of the last status is the same for both sides and does not count
		wall = time.Duration(f.Last-f.First) - stages[len(stages)-1].after
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	return sent{
		perSecond: float64(n) / wall.Seconds(), accepted: float64(n) / accepted.Seconds(), cpu: each(used.CPU),
		sinkCPU: f.SinkMicroseconds / float64(n), databaseCPU: each(used.Database), peak: used.Peak, bytes: f.Bytes,
	}, nil
}

// await waits until n messages are accepted, and so many statuses of each are answered.
func (b *bench) await(sink string, n, each int) error {
	for end := time.Now().Add(b.deadline); ; {
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
		if err := b.pause(50 * time.Millisecond); err != nil {
			return err
		}
	}
}

// memory measures the memory of runs of many rows.
func (b *bench) memory() error {
	sizes := []int{100_000, 1_000_000}
	if b.quick {
		sizes = sizes[:1]
	}
	t := newTable("rows", "peak memory (MB)", "messages/s", "CPU us/message", "bytes a row more")
	var first int64
	for i, n := range sizes {
		b.note("importing and sending %d rows, statuses %s", n, how(b.most()))
		s, err := b.onSQLite(b.most(), n, productJob{})
		if err != nil {
			return err
		}
		more := blank
		if i == 0 {
			first = s.peak
		} else {
			more = float64(s.peak-first) / float64(n-sizes[0])
		}
		t.add(fmt.Sprint(n), float64(s.peak)/1e6, s.perSecond, s.cpu, more)
	}
	return t.print(b.out, "Importing and sending in one process, statuses %s.", how(b.most()))
}

// profiles prints CPU profiles of a campaignd that sends by one of the functions onSQLite and
// onPostgres.
func (b *bench) profiles(send func(batch, rows int, with productJob) (sent, error)) error {
	for _, batch := range b.batches() {
		path := filepath.Join(os.TempDir(), fmt.Sprintf("campaignd-bench-%d.prof", batch))
		b.note("sending %d messages with a profile, statuses %s", b.messages, how(batch))
		s, err := send(batch, b.messages, productJob{Profile: path})
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "campaignd, statuses %s: %.0f messages/s, %.0f accepted/s, "+
			"%.1f us of CPU per message, PostgreSQL %.1f; the profile is %s\n",
			how(batch), s.perSecond, s.accepted, s.cpu, s.databaseCPU, path)
		for _, order := range []string{"-flat", "-cum"} {
			top := exec.CommandContext(b.ctx, "go", "tool", "pprof", "-top", order, "-nodecount=12", path)
			top.Stdout, top.Stderr = b.out, io.Discard
			if err := top.Run(); err != nil {
				return fmt.Errorf("go tool pprof %s %s: %w", order, path, err)
			}
			fmt.Fprintln(b.out)
		}
	}
	return nil
}
