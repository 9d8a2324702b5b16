//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
)

// lagged has the ages of summaries while a replica sends and takes three statuses for each message,
// in a ledger with a generated run whose segments are counted.
type lagged struct {
	Go, OS, PostgreSQL string
	CPUs               int
	Rows               int64
	Ages               []float64 // seconds since the oldest change that is not counted, each lagEvery
	PerSecond          float64   // messages
	Statuses           float64   // per second
}

const (
	lagEvery = 250 * time.Millisecond
	lagRate  = 1000 // messages per second
	// lagSpare is for how long the replica has rows to send before and after the time of -lag.
	lagSpare = time.Minute
	// lagRun is the number of the generated run; the ledger numbers the other one.
	lagRun = 1000

	sqlOldestChange = `SELECT coalesce(max((extract(epoch FROM clock_timestamp()) * 1000)::bigint - at), 0) FROM changed`
)

// ages makes such a ledger and measures.
func (b *bench) ages() (_ *lagged, err error) {
	c, end, err := b.servers()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	r := &lagged{Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Rows: b.options.generated}
	if r.PostgreSQL, err = c.postgres.psql(b.ctx, "postgres", "SHOW server_version"); err != nil {
		return nil, err
	}
	c.deadline = b.lag + time.Hour
	f, err := c.fleet(sinkJob{Batch: 64, Posters: c.posters})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	if err := f.counted(r.Rows); err != nil {
		return nil, err
	}
	none := filepath.Join(b.dir, "no campaigns")
	if err := f.replica(productJob{Campaigns: none, Rate: unpaced, InFlight: b.workers / connections}); err != nil {
		return nil, err
	}
	return r, f.ages(r)
}

// counted generates the rows, imports the list that is to be sent, and keeps the summaries of both.
func (f *running) counted(rows int64) (err error) {
	l, err := postgres.Open(f.ctx, f.postgres.url(f.database), ledger.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	f.note("generating %d rows", rows)
	if err := f.postgres.generate(f.ctx, f.database, lagRun, rows); err != nil {
		return err
	}
	_, list, err := f.list(int((f.lag + 2*lagSpare).Seconds()) * lagRate)
	if err != nil {
		return err
	}
	file := filepath.Join(f.dir, "campaign-lag.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "%slimits: {rate: %d}\n", campaignFile, lagRate), 0o600); err != nil {
		return err
	}
	var got loaded
	job := loadJob{importJob: importJob{File: file, List: list, Ledger: f.postgres.url(f.database)}}
	if err := f.once("load", job, &got); err != nil {
		return err
	}
	if _, err := f.ask("VACUUM ANALYZE", "CHECKPOINT"); err != nil {
		return err
	}
	f.note("counting all segments")
	return f.fold(l)
}

// ages measures the ages for the time of -lag, from half of lagSpare after the first message on.
func (f *running) ages(r *lagged) error {
	for sent := int64(0); sent == 0; {
		seen, err := readFigures(f.ctx, f.sink)
		if err != nil {
			return err
		}
		sent = seen.Accepted
		if err := f.pause(lagEvery); err != nil {
			return err
		}
	}
	f.note("measuring for %v", f.lag)
	if err := f.pause(lagSpare / 2); err != nil {
		return err
	}
	before, err := readFigures(f.ctx, f.sink)
	if err != nil {
		return err
	}
	began := time.Now()
	for time.Since(began) < f.lag {
		text, err := f.ask(sqlOldestChange)
		if err != nil {
			return err
		}
		age, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		r.Ages = append(r.Ages, float64(age)/1000)
		if err := f.pause(lagEvery); err != nil {
			return err
		}
	}
	after, err := readFigures(f.ctx, f.sink)
	seconds := time.Since(began).Seconds()
	r.PerSecond, r.Statuses = float64(after.Accepted-before.Accepted)/seconds, float64(after.Acked-before.Acked)/seconds
	slices.Sort(r.Ages)
	return err
}

// print writes the figures.
func (r *lagged) print(out io.Writer) error {
	age := func(share float64) float64 { return r.Ages[int(share*float64(len(r.Ages)-1))] }
	_, err := fmt.Fprintf(out, "%s, %s, %d processors, PostgreSQL %s: %d rows, %.0f messages and %.0f statuses a second beside them\n"+
		"oldest change that was not counted, %d times: median %.2f s, 99 %% %.2f s, at most %.2f s\n",
		r.Go, r.OS, r.CPUs, strings.TrimSpace(r.PostgreSQL), r.Rows, r.PerSecond, r.Statuses, len(r.Ages), age(0.5), age(0.99), age(1))
	return err
}
