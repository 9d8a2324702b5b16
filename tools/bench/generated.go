//go:build unix

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/operator"
)

// generated has the figures of questions about runs that were never sent: generate_series writes
// their rows as import, sending and webhooks leave them, of eight segments at a time.
type generated struct {
	Go, OS, PostgreSQL string
	CPUs               int
	Runs, Rows         int64
	Generated          float64 // seconds
	Asked              []asked
}

// asked has the cost of one question.
type asked struct {
	What    string
	Seconds float64
	Program float64 // seconds of CPU
	Server  float64 // seconds of CPU of PostgreSQL
	Bytes   int64   // of the file that was written
}

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

// generate fills a ledger and asks about it.
func (b *bench) generate() (_ *generated, err error) {
	p, err := startPostgres(b.ctx, filepath.Join(b.dir, "postgres"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	g := &generated{Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Runs: b.runs, Rows: b.options.generated}
	if g.PostgreSQL, err = p.psql(b.ctx, "postgres", "SHOW server_version"); err != nil {
		return nil, err
	}
	l, err := postgres.Open(b.ctx, p.url("postgres"), ledger.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	began := time.Now()
	for no := int64(1); no <= g.Runs; no++ {
		b.note("generating %d rows of run %d", g.Rows, no)
		if err := p.generate(b.ctx, "postgres", no, g.Rows); err != nil {
			return nil, err
		}
	}
	if _, err := p.psql(b.ctx, "postgres", "VACUUM ANALYZE", "CHECKPOINT"); err != nil {
		return nil, err
	}
	g.Generated = time.Since(began).Seconds()
	if g.Runs > 1 {
		return g, b.askPeople(g, p, l)
	}
	return g, b.askReports(g, p, l)
}

// generate writes the rows of a run into a ledger.
func (p *postgresServer) generate(ctx context.Context, database string, no, rows int64) error {
	if _, err := p.psql(ctx, database, fmt.Sprintf(sqlGeneratedRun, no, rows)); err != nil {
		return err
	}
	for low := int64(0); low < rows; low += generatedStep {
		if _, err := p.psql(ctx, database, "SET campaignd.changed = 'on'; SET synchronous_commit = off",
			strings.NewReplacer(":no", fmt.Sprint(no), ":lo", fmt.Sprint(low), ":hi", fmt.Sprint(min(low+generatedStep, rows)),
				":end", fmt.Sprint(low+generatedStep)).Replace(generatedRows)); err != nil {
			return err
		}
	}
	return nil
}

// askReports measures the report and the audit of a run whose segments nobody has counted, then
// counts them as a replica does in the background, and measures them again.
func (b *bench) askReports(g *generated, p *postgresServer, l *postgres.Ledger) error {
	program := filepath.Join(b.dir, "campaignd")
	if out, err := exec.CommandContext(b.ctx, "go", "build", "-o", program, "campaignd/cmd/campaignd").CombinedOutput(); err != nil {
		return fmt.Errorf("building campaignd: %w: %s", err, out)
	}
	page := filepath.Join(b.dir, "report.html")
	questions := func(state string) error {
		if err := b.command(g, p, "report"+state, program, "report", "latest"); err != nil {
			return err
		}
		if err := b.command(g, p, "report --html"+state, program, "report", "latest", "--html", page); err != nil {
			return err
		}
		f, err := os.Stat(page)
		if err != nil {
			return err
		}
		g.Asked[len(g.Asked)-1].Bytes = f.Size()
		return b.command(g, p, "audit"+state, program, "audit", "latest")
	}
	if err := questions(", no segment counted"); err != nil {
		return err
	}
	if err := b.ask(g, p, "each segment is counted and kept", func() error { return b.fold(l) }); err != nil {
		return err
	}
	return questions("")
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

// askPeople measures the first page of what one person got, in runs whose numbers are sorted. Four
// of five runs wrote to the person.
func (b *bench) askPeople(g *generated, p *postgresServer, l *postgres.Ledger) error {
	desk := &operator.Session{Ledger: l, By: "bench"}
	story := func(what string, pages int) (int64, error) {
		var n int64
		err := b.ask(g, p, what, func() error {
			for after, page := int64(0), 0; page < pages; page++ {
				messages, next, err := desk.Person(b.ctx, "+"+generatedPerson, after, 0)
				if err != nil {
					return err
				}
				if n += int64(len(messages)); next == 0 {
					break
				}
				after = next
			}
			return nil
		})
		if err == nil {
			g.Asked[len(g.Asked)-1].What += fmt.Sprintf(": %d messages", n)
		}
		return n, err
	}
	most := g.Runs - g.Runs/5
	if err := b.ask(g, p, "all numbers are sorted", func() error {
		for {
			if kept, err := l.KeepNumbers(b.ctx); err != nil || !kept {
				return err
			}
		}
	}); err != nil {
		return err
	}
	for range 3 {
		if _, err := story("a person's first page", 1); err != nil {
			return err
		}
	}
	all, err := story("all pages", math.MaxInt)
	if err != nil {
		return err
	}
	if _, err := desk.Erase(b.ctx, "+"+generatedPerson); err != nil {
		return err
	}
	left, err := story("all pages after an erasure", math.MaxInt)
	if err == nil && (all != most || left != 0) {
		err = fmt.Errorf("a person of %d messages has %d, and %d after an erasure", most, all, left)
	}
	return err
}

// generatedPerson is the number of a row of four runs of five.
const generatedPerson = "14155550100"

// ask measures a question in this process.
func (b *bench) ask(g *generated, p *postgresServer, what string, question func() error) error {
	before, err := cpu()
	if err != nil {
		return err
	}
	return b.measured(g, p, what, func() (time.Duration, error) {
		if err := question(); err != nil {
			return 0, err
		}
		after, err := cpu()
		return after - before, err
	})
}

// command measures a command of campaignd.
func (b *bench) command(g *generated, p *postgresServer, what, program string, args ...string) error {
	return b.measured(g, p, what, func() (time.Duration, error) {
		cmd := exec.CommandContext(b.ctx, program, args...)
		cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "CAMPAIGND_LEDGER="+p.url("postgres"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("campaignd %s: %w: %s", args[0], err, out)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
	})
}

// measured adds the cost of f, which returns the CPU time of the program.
func (b *bench) measured(g *generated, p *postgresServer, what string, f func() (time.Duration, error)) error {
	b.note("%s", what)
	pid, err := p.pid()
	if err != nil {
		return err
	}
	server := b.settled(pid)
	began := time.Now()
	used, err := f()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	a := asked{What: what, Seconds: time.Since(began).Seconds(), Program: used.Seconds()}
	a.Server = (b.settled(pid) - server).Seconds()
	g.Asked = append(g.Asked, a)
	return nil
}

// settled is serverCPU when it stands still: the time of a process that has just ended is that of
// its parent a moment later.
func (b *bench) settled(pid int) (now time.Duration) {
	for range 10 {
		before := now
		if now = serverCPU(pid); now == before || b.pause(200*time.Millisecond) != nil {
			break
		}
	}
	return now
}

// print writes the figures as a table.
func (g *generated) print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s, %d processors, PostgreSQL %s: %d runs of %d rows, generated in %.0f s\n",
		g.Go, g.OS, g.CPUs, g.PostgreSQL, g.Runs, g.Rows, g.Generated)
	for _, a := range g.Asked {
		size := ""
		if a.Bytes > 0 {
			size = fmt.Sprintf(", %d bytes", a.Bytes)
		}
		fmt.Fprintf(out, "%-34s %8.3f s; CPU of the program %.2f s, of PostgreSQL %.2f s%s\n", a.What, a.Seconds, a.Program, a.Server, size)
	}
	return nil
}
