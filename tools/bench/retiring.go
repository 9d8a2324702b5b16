//go:build unix

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// While retention deletes a run, another run is sent at retiringRate.
const (
	retiringRate     = 500 // messages per second
	retiringDeadline = time.Hour
)

// retire makes the run with so many rows old enough for retention, starts a replica that deletes
// it, and measures the pauses of another run, which has a tenth of the rows.
func (f *running) retire(rows int64) error {
	if err := f.size("with the run"); err != nil {
		return err
	}
	const month = 40 * 24 * 3600 * 1000 // milliseconds
	if _, err := f.ask(fmt.Sprintf("UPDATE run SET ended_at = ended_at - %d", month),
		fmt.Sprintf("UPDATE run_event SET event_at = event_at - %d", month),
		fmt.Sprintf("UPDATE sender SET at = at - %d", month)); err != nil {
		return err
	}
	file, list, err := f.inputs("beside", fmt.Sprintf("limits: {rate: %d}\n", retiringRate), max(int(rows)/10, 10_000))
	if err != nil {
		return err
	}
	before, err := readFigures(f.ctx, f.sink)
	if err != nil {
		return err
	}
	var got imported
	if err := f.once("import", importJob{File: file, List: list, Ledger: f.postgres.URL(f.database)}, &got); err != nil {
		return err
	}
	if err := f.under(before.Accepted+2*retiringRate, time.Minute); err != nil { // the other run is under way
		return err
	}
	f.note("deleting %d rows while %d others are sent", rows, got.Import.Rows)
	none := filepath.Join(f.dir, "no campaigns")
	if err := f.replica(productJob{Campaigns: none, Rate: unpaced, InFlight: f.workers / connections, Retention: true}); err != nil {
		return err
	}
	if err := f.watch(rows, before.Accepted+got.Import.Rows); err != nil {
		return err
	}
	if _, err := f.ask("VACUUM"); err != nil {
		return err
	}
	if err := errors.Join(f.size("with the other run"), f.endReplicas()); err != nil { // VACUUM FULL locks the tables
		return err
	}
	if _, err := f.ask("VACUUM FULL"); err != nil {
		return err
	}
	return f.size("after VACUUM FULL")
}

// size prints the size of the database.
func (f *running) size(when string) error {
	size, err := f.ask("SELECT pg_size_pretty(pg_database_size(current_database()))")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f.out, "database %s: %s\n", when, size)
	return err
}

// watch waits until retention has deleted the rows, and measures the messages that the service
// accepts meanwhile, up to the last one.
func (f *running) watch(rows, last int64) error {
	began := time.Now()
	seen, err := readFigures(f.ctx, f.sink)
	if err != nil {
		return err
	}
	first, at := seen.Accepted, began
	var sending, pause time.Duration // how long the other run was sent, and its longest pause
	for asked := began; time.Since(began) < retiringDeadline; {
		if err := f.pause(20 * time.Millisecond); err != nil {
			return err
		}
		next, err := readFigures(f.ctx, f.sink)
		if err != nil {
			return err
		}
		now := time.Now()
		if next.Accepted < last {
			sending, pause = now.Sub(began), max(pause, now.Sub(at))
		}
		if next.Accepted > seen.Accepted {
			at = now
		}
		if seen = next; now.Sub(asked) < time.Second {
			continue
		}
		asked = now
		deleted, err := f.number("SELECT coalesce(sum(retired_rows), 0) FROM run")
		if err != nil {
			return err
		}
		if deleted >= rows {
			_, err := fmt.Fprintf(f.out, "retention deleted %d rows in %.0f s; meanwhile %d others were sent in %.0f s, longest pause %.2f s\n",
				rows, now.Sub(began).Seconds(), seen.Accepted-first, sending.Seconds(), pause.Seconds())
			return err
		}
	}
	return fmt.Errorf("retention has not deleted %d rows within %v", rows, retiringDeadline)
}
