//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Two replicas share a long list. One of them imports it when its schedule is due, and both send
// it.
const (
	millionRows     = 1_000_000
	millionReplicas = 2
	millionDeadline = 15 * time.Minute
)

// scheduled writes a campaign with a list of n rows and a firing that is due, in a folder of its
// own.
func (b *bench) scheduled(n int) (folder string, err error) {
	folder = filepath.Join(b.dir, fmt.Sprintf("campaigns-%d", n))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	from, list, err := b.inputs("scheduled", "recipients: {file: list.csv}\n"+
		"schedule: {cron: \"0 0 * * *\", timezone: UTC, misfire: run, grace: 48h}\n", n)
	if err != nil {
		return "", err
	}
	file, yesterday := filepath.Join(folder, "scheduled.yaml"), time.Now().AddDate(0, 0, -1)
	// A list lies in the folder of its campaign.
	return folder, errors.Join(os.Link(list, filepath.Join(folder, "list.csv")), os.Rename(from, file),
		os.Chtimes(file, yesterday, yesterday))
}

// million measures the long list. It fails when a message or a status is missing in the ledger. If
// then is not nil, it is called before the replicas end and the database is dropped.
func (c *cluster) million(rows, replicas int, then func(*running) error) (err error) {
	c.note("%d rows on %d replicas", rows, replicas)
	limit := max(1, time.Duration(rows/millionRows)) * millionDeadline
	c.deadline = limit + retiringDeadline + time.Minute
	folder, err := c.scheduled(rows)
	if err != nil {
		return err
	}
	f, err := c.fleet(sinkJob{Batch: 64}, replicas, productJob{Campaigns: folder, Rate: unpaced, InFlight: c.workers / connections})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	began := time.Now()
	if err := f.under(1, limit); err != nil {
		return err
	}
	imported := time.Since(began)
	if err := c.await(f.sink, rows, len(stages)); err != nil {
		return err
	}
	seen, err := readFigures(c.ctx, f.sink)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "\n%d rows on %d replicas, imported by one of them: "+
		"the first message after %.1f s, %.0f messages/s from then to the last status.\n", rows, replicas, imported.Seconds(),
		float64(rows)/(time.Duration(seen.Last-seen.First)-stages[len(stages)-1].after).Seconds())
	for i, r := range f.replicas {
		s, err := r.sample()
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "replica %d: %d posts, peak memory %.1f MB\n", i+1, s.Posts, float64(s.Peak)/1e6)
	}
	if err := f.read(int64(rows)); err != nil {
		return err
	}
	if then != nil {
		return then(f)
	}
	return nil
}

// read waits until the ledger has so many messages that are read. A status that came before its
// receipt counts when the receipt is stored.
func (f *running) read(want int64) error {
	for end := time.Now().Add(time.Minute); ; {
		got, err := f.number("SELECT count(*) FROM outcome WHERE state = 5 /* accepted */ AND rank = 4 /* read */")
		if err != nil || got == want {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d messages are read in the ledger; want %d", got, want)
		}
		if err := f.pause(time.Second); err != nil {
			return err
		}
	}
}
