//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// While retention deletes a run, another run is sent at retiringRate.
const (
	retiringRate     = 500 // messages per second
	retiringDeadline = time.Hour
)

// retired has the figures of a run whose deliveries retention deletes while another run is sent.
type retired struct {
	Rows           int64
	Seconds        float64 // from the start of the replica that deletes to the last row
	Sent           int64   // messages of the other run meanwhile
	SendingSeconds float64 // how long that run was sent while rows were deleted
	LongestPause   float64 // seconds in which none of its messages was accepted
	DatabaseBefore string
	DatabaseAfter  string // with the rows of the other run, after VACUUM
	DatabaseFull   string // the same after the replicas have ended, and VACUUM FULL
}

// retire makes the run old enough for retention; rows is how many rows it has. It starts a replica
// that deletes the run, and measures the pauses of another run. That other run has a tenth of the
// rows.
func (f *running) retire(rows int) (r retired, err error) {
	r.Rows = int64(rows)
	const size = "SELECT pg_size_pretty(pg_database_size(current_database()))"
	if r.DatabaseBefore, err = f.ask(size); err != nil {
		return r, err
	}
	const month = 40 * 24 * 3600 * 1000 // milliseconds
	if _, err := f.ask(fmt.Sprintf("UPDATE run SET ended_at = ended_at - %d", month),
		fmt.Sprintf("UPDATE run_event SET event_at = event_at - %d", month),
		fmt.Sprintf("UPDATE sender SET at = at - %d", month)); err != nil {
		return r, err
	}
	_, list, err := f.list(max(rows/10, 10_000))
	if err != nil {
		return r, err
	}
	file := filepath.Join(f.dir, "campaign-beside.yaml")
	text := strings.Replace(campaignFile, "name: bench", "name: beside", 1) + fmt.Sprintf("limits: {rate: %d}\n", retiringRate)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return r, err
	}
	before, err := readFigures(f.ctx, f.sink)
	if err != nil {
		return r, err
	}
	var got loaded
	job := loadJob{importJob: importJob{File: file, List: list, Ledger: f.postgres.url(f.database)}}
	if err := f.once("load", job, &got); err != nil {
		return r, err
	}
	for n := before.Accepted; n < before.Accepted+2*retiringRate; { // the other run is under way
		seen, err := readFigures(f.ctx, f.sink)
		if err != nil {
			return r, err
		}
		n = seen.Accepted
		if err := f.pause(100 * time.Millisecond); err != nil {
			return r, err
		}
	}
	f.note("deleting %d rows while %d others are sent", rows, got.Import.Rows)
	none := filepath.Join(f.dir, "no campaigns")
	if err := f.replica(productJob{Campaigns: none, Rate: unpaced, InFlight: f.workers / connections, Retention: true}); err != nil {
		return r, err
	}
	if err := f.watch(&r, before.Accepted+got.Import.Rows); err != nil {
		return r, err
	}
	if _, err := f.ask("VACUUM"); err != nil {
		return r, err
	}
	if r.DatabaseAfter, err = f.ask(size); err != nil {
		return r, err
	}
	if err := f.endReplicas(); err != nil { // VACUUM FULL locks the tables
		return r, err
	}
	if _, err := f.ask("VACUUM FULL"); err != nil {
		return r, err
	}
	r.DatabaseFull, err = f.ask(size)
	return r, err
}

// watch waits until retention has deleted r.Rows rows, and measures the messages that the service
// accepts meanwhile, up to the last one.
func (f *running) watch(r *retired, last int64) error {
	began := time.Now()
	seen, err := readFigures(f.ctx, f.sink)
	if err != nil {
		return err
	}
	first, at := seen.Accepted, began
	for asked := began; ; {
		if time.Since(began) > retiringDeadline {
			return fmt.Errorf("retention has not deleted %d rows within %v", r.Rows, retiringDeadline)
		}
		if err := f.pause(20 * time.Millisecond); err != nil {
			return err
		}
		next, err := readFigures(f.ctx, f.sink)
		if err != nil {
			return err
		}
		now := time.Now()
		if next.Accepted < last {
			r.SendingSeconds = now.Sub(began).Seconds()
			r.LongestPause = max(r.LongestPause, now.Sub(at).Seconds())
		}
		if next.Accepted > seen.Accepted {
			at = now
		}
		if seen = next; now.Sub(asked) < time.Second {
			continue
		}
		asked = now
		text, err := f.ask("SELECT coalesce(sum(retired_rows), 0) FROM run")
		if err != nil {
			return err
		}
		rows, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		if rows >= r.Rows {
			r.Seconds, r.Sent = now.Sub(began).Seconds(), seen.Accepted-first
			return nil
		}
	}
}

// ask returns the answer of the replicas' database, without blanks around it.
func (f *running) ask(statements ...string) (string, error) {
	text, err := f.postgres.psql(f.ctx, f.database, statements...)
	return strings.TrimSpace(text), err
}

// print writes the figures.
func (r retired) print(out io.Writer) error {
	_, err1 := fmt.Fprintf(out, "retention deleted %d rows in %.0f s; meanwhile %d others were sent in %.0f s, longest pause %.2f s\n",
		r.Rows, r.Seconds, r.Sent, r.SendingSeconds, r.LongestPause)
	_, err2 := fmt.Fprintf(out, "database before %s, after %s with the other run, %s after VACUUM FULL\n",
		r.DatabaseBefore, r.DatabaseAfter, r.DatabaseFull)
	return errors.Join(err1, err2)
}
