//go:build unix

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
)

const (
	lagEvery = 250 * time.Millisecond
	lagRate  = 1000 // messages per second
	// lagSpare is for how long the replica has rows to send before and after the time of -lag.
	lagSpare = time.Minute
	// lagRun is the number of the generated run; the ledger numbers the other one.
	lagRun = 1000

	sqlOldestChange = `SELECT coalesce(max((extract(epoch FROM clock_timestamp()) * 1000)::bigint - at), 0) FROM changed`
)

// ages measures the ages of summaries while a replica sends and takes three statuses for each
// message, in a ledger with a generated run whose segments are counted.
func (b *bench) ages() (err error) {
	c, end, err := b.servers()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	c.deadline = b.lag + time.Hour
	f, err := c.fleet(sinkJob{Batch: 64}, 0, productJob{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	if err := f.counted(); err != nil {
		return err
	}
	none := filepath.Join(b.dir, "no campaigns")
	if err := f.replica(productJob{Campaigns: none, Rate: unpaced, InFlight: b.workers / connections}); err != nil {
		return err
	}
	if err := errors.Join(f.under(1, time.Minute), f.pause(lagSpare/2)); err != nil {
		return err
	}
	return f.ages()
}

// counted generates the rows, imports the list that is to be sent, and keeps the summaries of both.
func (f *running) counted() (err error) {
	l, err := postgres.Open(f.ctx, f.postgres.URL(f.database), ledger.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	f.note("generating %d rows", f.options.generated)
	if err := f.generate(f.database, lagRun, f.options.generated); err != nil {
		return err
	}
	file, list, err := f.inputs("lag", fmt.Sprintf("limits: {rate: %d}\n", lagRate), int((f.lag+2*lagSpare).Seconds())*lagRate)
	if err != nil {
		return err
	}
	var got imported
	if err := f.once("import", importJob{File: file, List: list, Ledger: f.postgres.URL(f.database)}, &got); err != nil {
		return err
	}
	if _, err := f.ask("VACUUM ANALYZE", "CHECKPOINT"); err != nil {
		return err
	}
	f.note("counting all segments")
	return f.fold(l)
}

// ages asks for the time since the oldest change that is not counted, each lagEvery for the time of
// -lag.
func (f *running) ages() error {
	f.note("measuring for %v", f.lag)
	before, err := readFigures(f.ctx, f.sink)
	if err != nil {
		return err
	}
	var ages []float64 // in seconds
	began := time.Now()
	for time.Since(began) < f.lag {
		age, err := f.number(sqlOldestChange)
		if err != nil {
			return err
		}
		ages = append(ages, float64(age)/1000)
		if err := f.pause(lagEvery); err != nil {
			return err
		}
	}
	after, err := readFigures(f.ctx, f.sink)
	if err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	slices.Sort(ages)
	age := func(share float64) float64 { return ages[int(share*float64(len(ages)-1))] }
	_, err = fmt.Fprintf(f.out, "%s: %d rows, %.0f messages and %.0f statuses a second beside them\n"+
		"oldest change that was not counted, %d times: median %.2f s, 99 %% %.2f s, at most %.2f s\n",
		f.machine, f.options.generated, float64(after.Accepted-before.Accepted)/seconds, float64(after.Acked-before.Acked)/seconds,
		len(ages), age(0.5), age(0.99), age(1))
	return err
}
