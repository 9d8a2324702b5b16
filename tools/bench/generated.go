//go:build unix

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/operator"
)

//go:embed generated.sql
var generatedRows string

const (
	sqlGeneratedRun = `INSERT INTO run (no, state, wanted, marketing, budget, template, language, created_at, started_at, ended_at, parent,
			campaign, list_hash, launch, list_name, asset, asset_until, header, definition)
		VALUES (%[1]d, 'completed', 'run', true, 0, 'spring_offer', 'en', 1767225600000, 1767225600000, 1767225660000 + %[2]d * 2, 0,
			'generated', md5('%[1]d'), 'generated %[1]d', 'list.csv', '', 0, '["to","first_name","city"]', '');
		INSERT INTO run_count (no, rows) VALUES (%[1]d, %[2]d);
		INSERT INTO run_event (no, event_at) VALUES (%[1]d, 1767312000000 + %[2]d * 2);
		INSERT INTO segment (id, run, lo, hi, mark, done, closed, connection, zone)
			SELECT (%[1]d::bigint << 32) | (lo / 4096), %[1]d, lo, least(lo + 4096, %[2]d), least(lo + 4096, %[2]d), true, true,
				'conn_' || (lo / 4096 %% 4 + 1), '' FROM generate_series(0::bigint, %[2]d - 1, 4096) lo;
		INSERT INTO changed (segment, at) SELECT id, 0 FROM segment WHERE run = %[1]d`
	// generatedStep is a multiple of the rows of eight segments.
	generatedStep = 15 * 32768
)

// questions are what is asked about runs that were never sent: generate_series writes their rows as
// import, sending and webhooks leave them, of eight segments at a time.
type questions struct {
	*cluster
	database string
	ledger   *postgres.Ledger
	program  string // path of campaignd
}

// generate fills a ledger and asks about it.
func (b *bench) generate() (err error) {
	c, end, err := b.servers()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	l, err := postgres.Open(b.ctx, c.postgres.URL("postgres"), ledger.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	fmt.Fprintf(b.out, "%s: %d runs of %d rows\n", c.machine, b.runs, b.options.generated)
	q := &questions{cluster: c, database: "postgres", ledger: l}
	if err := q.ask("rows are generated", func() error {
		for no := int64(1); no <= b.runs; no++ {
			if err := c.generate("postgres", no, b.options.generated); err != nil {
				return err
			}
		}
		_, err := c.postgres.psql(b.ctx, "postgres", "VACUUM ANALYZE", "CHECKPOINT")
		return err
	}); err != nil {
		return err
	}
	if b.runs > 1 {
		return q.people()
	}
	return q.reports()
}

// generate writes the rows of a run into a ledger.
func (c *cluster) generate(database string, no, rows int64) error {
	if _, err := c.postgres.psql(c.ctx, database, fmt.Sprintf(sqlGeneratedRun, no, rows)); err != nil {
		return err
	}
	for low := int64(0); low < rows; low += generatedStep {
		if _, err := c.postgres.psql(c.ctx, database, "SET campaignd.changed = 'on'; SET synchronous_commit = off",
			strings.NewReplacer(":no", fmt.Sprint(no), ":lo", fmt.Sprint(low), ":hi", fmt.Sprint(min(low+generatedStep, rows)),
				":end", fmt.Sprint(low+generatedStep)).Replace(generatedRows)); err != nil {
			return err
		}
	}
	return nil
}

// reports measures the report and the audit of a run whose segments nobody has counted, then counts
// them as a replica does in the background, and measures them again.
func (q *questions) reports() (err error) {
	if q.program, err = q.build(); err != nil {
		return err
	}
	page := filepath.Join(q.dir, "report.html")
	asked := func() error {
		if err := errors.Join(q.command("report", "latest"), q.command("report", "latest", "--html", "report.html"),
			q.command("audit", "latest")); err != nil {
			return err
		}
		f, err := os.Stat(page)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(q.out, "the page has %d bytes\n", f.Size())
		return err
	}
	if err := asked(); err != nil {
		return err
	}
	if err := q.ask("each segment is counted and kept", func() error { return q.fold(q.ledger) }); err != nil {
		return err
	}
	return asked()
}

// build builds campaignd and returns its path.
func (b *bench) build() (program string, err error) {
	program = filepath.Join(b.dir, "campaignd")
	if out, err := exec.CommandContext(b.ctx, "go", "build", "-o", program, "campaignd/cmd/campaignd").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building campaignd: %w: %s", err, out)
	}
	return program, nil
}

// fold keeps the summary of each segment.
func (b *bench) fold(l *postgres.Ledger) error {
	for {
		if n, err := l.FoldSummaries(b.ctx, 0, foldStep); err != nil || n == 0 {
			return err
		}
	}
}

// foldStep is how many segments are counted at once.
const foldStep = 64

// generatedPerson is the number of a row of four runs of five.
const generatedPerson = "14155550100"

// people measures the first page of what one person got, in runs whose numbers are sorted.
func (q *questions) people() error {
	desk := &operator.Session{Ledger: q.ledger, By: "bench"}
	var got int64
	story := func(what string, pages int) error {
		got = 0
		err := q.ask(what, func() error {
			for after, page := int64(0), 0; page < pages; page++ {
				messages, next, err := desk.Person(q.ctx, "+"+generatedPerson, after, 0)
				if err != nil {
					return err
				}
				if got += int64(len(messages)); next == 0 {
					break
				}
				after = next
			}
			return nil
		})
		fmt.Fprintf(q.out, "%d messages\n", got)
		return err
	}
	if err := q.ask("all numbers are sorted", func() error {
		for {
			if kept, err := q.ledger.KeepNumbers(q.ctx); err != nil || !kept {
				return err
			}
		}
	}); err != nil {
		return err
	}
	for range 3 {
		if err := story("a person's first page", 1); err != nil {
			return err
		}
	}
	if err := story("all pages", math.MaxInt); err != nil {
		return err
	}
	all := got
	if _, err := desk.Erase(q.ctx, "+"+generatedPerson); err != nil {
		return err
	}
	err := story("all pages after an erasure", math.MaxInt)
	if most := q.runs - q.runs/5; err == nil && (all != most || got != 0) {
		err = fmt.Errorf("a person of %d messages has %d, and %d after an erasure", most, all, got)
	}
	return err
}

// ask measures a question in this process.
func (q *questions) ask(what string, question func() error) error {
	return q.measured(what, func() (time.Duration, error) {
		before := cpu()
		err := question()
		return cpu() - before, err
	})
}

// command measures a command of campaignd.
func (q *questions) command(args ...string) error {
	return q.measured(strings.Join(args, " "), func() (time.Duration, error) {
		cmd := exec.CommandContext(q.ctx, q.program, args...)
		cmd.Dir, cmd.Env = q.dir, append(os.Environ(), "CAMPAIGND_LEDGER="+q.postgres.URL(q.database))
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%w: %s", err, out)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
	})
}

// measured prints the cost of f, which returns the CPU time of the program.
func (q *questions) measured(what string, f func() (time.Duration, error)) error {
	q.note("%s", what)
	server, began := q.settled(), time.Now()
	used, err := f()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	took := time.Since(began)
	_, err = fmt.Fprintf(q.out, "%-34s %8.3f s; CPU of the program %.2f s, of PostgreSQL %.2f s\n",
		what, took.Seconds(), used.Seconds(), (q.settled() - server).Seconds())
	return err
}

// settled is serverCPU when it stands still: the time of a process that has just ended is that of
// its parent a moment later.
func (q *questions) settled() (now time.Duration) {
	for range 10 {
		before := now
		if now = serverCPU(q.pid); now == before || q.pause(200*time.Millisecond) != nil {
			break
		}
	}
	return now
}
