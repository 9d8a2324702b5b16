//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// largeReplicas is how many replicas send a large list.
const largeReplicas = 4

// large has the figures of a list of -large rows that four replicas import and send on PostgreSQL,
// to a service without latency.
type large struct {
	Go, OS, PostgreSQL string
	CPUs               int
	Million            million
	DatabaseBytes      map[string]string // of the database, and of its largest tables with their indexes
	ReportSeconds      [2]float64        // of `campaignd report`, asked twice
	AuditSeconds       float64           // of `campaignd audit`
	PersonSeconds      float64           // of `campaignd person` with the number of one row
	Retired            retired
}

// large measures the import and the sending of a list of -large rows.
func (b *bench) large() (_ *large, err error) {
	c, end, err := b.servers()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	r := &large{Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), DatabaseBytes: map[string]string{}}
	if r.PostgreSQL, err = c.postgres.psql(b.ctx, "postgres", "SHOW server_version"); err != nil {
		return nil, err
	}
	program := filepath.Join(b.dir, "campaignd")
	if out, err := exec.CommandContext(b.ctx, "go", "build", "-o", program, "campaignd/cmd/campaignd").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building campaignd: %w: %s", err, out)
	}
	c.note("%d rows on %d replicas", b.rowsLarge, largeReplicas)
	r.Million, err = c.million(b.rowsLarge, largeReplicas, func(f *running) (err error) {
		if err := c.sizes(r, f.database); err != nil {
			return err
		}
		for i := range r.ReportSeconds {
			if r.ReportSeconds[i], err = b.timed(program, c.postgres.url(f.database), "report", "latest"); err != nil {
				return err
			}
		}
		if r.AuditSeconds, err = b.timed(program, c.postgres.url(f.database), "audit", "latest"); err != nil {
			return err
		}
		number := recipient(b.rowsLarge / 2).to
		if r.PersonSeconds, err = b.timed(program, c.postgres.url(f.database), "person", number); err != nil {
			return err
		}
		c.note("%s", r.asked())
		r.Retired, err = f.retire(b.rowsLarge)
		return err
	})
	return r, err
}

// sizes reads the size of the database and of its largest tables.
func (c *cluster) sizes(r *large, database string) error {
	text, err := c.postgres.psql(c.ctx, database, `SELECT 'database', pg_size_pretty(pg_database_size(current_database()))`,
		`SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class
			WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY pg_total_relation_size(oid) DESC LIMIT 4`)
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		name, size, _ := strings.Cut(strings.TrimSpace(line), "|")
		r.DatabaseBytes[name] = size
	}
	return nil
}

// timed runs a command of campaignd and returns how long it took.
func (b *bench) timed(program, ledger string, args ...string) (float64, error) {
	cmd := exec.CommandContext(b.ctx, program, args...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "CAMPAIGND_LEDGER="+ledger)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("campaignd %s: %w: %s", args[0], err, out)
	}
	return time.Since(began).Seconds(), nil
}

// print writes the figures as a table.
func (r *large) print(out io.Writer) error {
	m := r.Million
	fmt.Fprintf(out, "%s, %s, %d processors, PostgreSQL %s, %d replicas\n", r.Go, r.OS, r.CPUs, r.PostgreSQL, len(m.Peak))
	fmt.Fprintf(out, "%d rows: first message after %.1f s, %.0f messages a second from then to the last status\n",
		m.Rows, m.Imported, m.PerSecond)
	for i := range m.Peak {
		fmt.Fprintf(out, "replica %d: %d messages, peak memory %.0f MB\n", i+1, m.Posts[i], float64(m.Peak[i])/1e6)
	}
	for name, size := range r.DatabaseBytes {
		fmt.Fprintf(out, "%s: %s\n", name, size)
	}
	fmt.Fprintln(out, r.asked())
	return r.Retired.print(out)
}

// asked says how long the questions took.
func (r *large) asked() string {
	return fmt.Sprintf("report %.1f s, once more %.1f s, audit %.1f s, person %.2f s",
		r.ReportSeconds[0], r.ReportSeconds[1], r.AuditSeconds, r.PersonSeconds)
}
