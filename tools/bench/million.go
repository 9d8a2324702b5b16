//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Two replicas share a long list. One of them imports it when its schedule is due, and both send
// it.
const (
	millionRows     = 1_000_000
	millionReplicas = 2
	millionDeadline = 15 * time.Minute
)

// million has the figures of that list.
type million struct {
	Rows int64
	// Imported is the time from the start of the replicas to the first message, in seconds.
	Imported float64
	// PerSecond is the rate of messages, from the first message to the last answered status.
	PerSecond float64
	Posts     []int64 // messages of each replica
	Peak      []int64 // peak memory of each replica in bytes
}

// scheduled writes a campaign with a list of n rows and a firing that is due, in a folder of its
// own.
func (b *bench) scheduled(n int) (folder string, err error) {
	_, list, err := b.list(n)
	if err != nil {
		return "", err
	}
	folder = filepath.Join(b.dir, fmt.Sprintf("campaigns-%d", n))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if err := os.Link(list, filepath.Join(folder, "list.csv")); err != nil { // a list lies in the folder of its campaign
		return "", err
	}
	file := filepath.Join(folder, "bench.yaml")
	text := campaignFile + "recipients: {file: list.csv}\n" +
		"schedule: {cron: \"0 0 * * *\", timezone: UTC, misfire: run, grace: 48h}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	yesterday := time.Now().AddDate(0, 0, -1)
	return folder, os.Chtimes(file, yesterday, yesterday)
}

// million measures the long list. It fails when a message or a status is missing in the ledger at
// the end.
//
// If then is not nil, it is called before the replicas end and the database is dropped.
func (c *cluster) million(rows, replicas int, then func(*running) error) (m million, err error) {
	m.Rows = int64(rows)
	limit := max(1, time.Duration(rows/millionRows)) * millionDeadline
	usual := c.deadline
	c.deadline = limit + retiringDeadline + time.Minute
	defer func() { c.deadline = usual }()
	folder, err := c.scheduled(rows)
	if err != nil {
		return m, err
	}
	f, err := c.serve(replicas, sinkJob{Batch: 64, Posters: c.posters},
		productJob{Campaigns: folder, Rate: unpaced, InFlight: c.workers / connections})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	began := time.Now()
	var seen figures
	for end := began.Add(limit); seen.Acked < m.Rows*int64(len(stages)); {
		if time.Now().After(end) {
			return m, fmt.Errorf("after %v %d of %d messages are accepted and %d statuses answered",
				limit, seen.Accepted, m.Rows, seen.Acked)
		}
		if err := c.pause(200 * time.Millisecond); err != nil {
			return m, err
		}
		if seen, err = readFigures(c.ctx, f.sink); err != nil {
			return m, err
		}
		if m.Imported == 0 && seen.Accepted > 0 {
			m.Imported = time.Since(began).Seconds()
		}
	}
	m.PerSecond = float64(m.Rows) / (time.Duration(seen.Last-seen.First) - stages[len(stages)-1].after).Seconds()
	for _, r := range f.replicas {
		s, err := r.sample()
		if err != nil {
			return m, err
		}
		m.Posts, m.Peak = append(m.Posts, s.Posts), append(m.Peak, s.Peak)
	}
	read, err := c.postgres.psql(c.ctx, f.database, "SELECT count(*) FROM outcome WHERE state = 5 /* accepted */ AND rank = 4 /* read */")
	if err != nil {
		return m, err
	}
	if seen.Accepted != m.Rows || strings.TrimSpace(read) != fmt.Sprint(m.Rows) {
		return m, fmt.Errorf("%d of %d messages were accepted, and %s are read in the ledger", seen.Accepted, m.Rows, read)
	}
	if then != nil {
		return m, then(f)
	}
	return m, nil
}

// sample returns what a replica has used and sent so far.
func (r *child) sample() (s sample, err error) {
	if err := json.NewEncoder(r.in).Encode(struct{}{}); err != nil {
		return s, err
	}
	return s, r.receive(&s)
}
