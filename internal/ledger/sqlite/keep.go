package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger/sqlite/dbfile"
)

const (
	// lookEvery is how often Keep looks at the files. Two looks are within a second: the first stops
	// all writes, and the second logs it if nothing was to be written.
	lookEvery = 300 * time.Millisecond
	// renewEvery is how often Keep renews the number of ledger and companion while something is
	// written. A copy that is older than that is noticed. A renewal syncs a file and a folder.
	renewEvery = 5 * time.Second
)

// errGone says that the files that are open are not those at the ledger's path any more.
var errGone = errors.New("nothing more is recorded or sent")

// Keep looks at the ledger's files until ctx ends (Look), and renews the number that a sender's
// ledger has in common with its companion.
func (l *Ledger) Keep(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	began, failing := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if l.Look() != nil || time.Since(began) < renewEvery {
			continue
		}
		began = time.Now()
		err := l.renew(ctx)
		if err != nil && !failing && ctx.Err() == nil && !l.outage.Logged() {
			l.log.Warn("the ledger's companion is not renewed: a copy of the ledger may not be noticed", "companion", dbfile.StampPath(l.path),
				"err", err)
		}
		failing = err != nil
	}
}

// Look returns an error when a file of the ledger was removed, moved or replaced while it is open,
// or when another process took it for sending. From then on every write fails with that error
// (campaign.ErrUnwritable), because what is written to such a file is lost. A file that is put back
// ends it.
func (l *Ledger) Look() error {
	err := l.look()
	if err == nil {
		l.gone.Store(nil)
		return nil
	}
	l.gone.Store(&err)
	return l.outage.Failed(explain(l.path, err))
}

func (l *Ledger) look() error {
	if l.taken.Load() {
		return fmt.Errorf("another process took it for sending: %w; stop one of the two", errGone)
	}
	for path, was := range l.opened {
		switch is, err := dbfile.IDOf(path); {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%s was removed or moved while it is open: %w; put it back, or stop this process and restore a backup", path, errGone)
		case err == nil && !is.Same(was):
			return fmt.Errorf("%s was replaced while it is open: %w; stop this process, and start it on the file that is right", path, errGone)
		}
	}
	return nil
}

// remember notes which files are open.
func (l *Ledger) remember() {
	l.opened = map[string]dbfile.ID{l.path: l.file}
	beside := []string{"-wal", "-shm"}
	if l.lock != nil {
		beside = append(beside, ".lock")
	}
	for _, suffix := range beside {
		if id, err := dbfile.IDOf(l.path + suffix); err == nil {
			l.opened[l.path+suffix] = id
		}
	}
}

// renew gives ledger and companion of a sender a new number if something was written since the last
// time.
func (l *Ledger) renew(ctx context.Context) error {
	if l.lock == nil || l.writer == nil || l.restored.Load() != nil {
		return nil
	}
	l.renewing.Lock()
	defer l.renewing.Unlock()
	if l.writer.check.commits.Load() == l.renewedAt {
		return nil
	}
	if err := l.Look(); err != nil {
		return err
	}
	var number int64
	if err := l.read().row(ctx, sqlNumber, nil, new(string), &number); err != nil {
		return err
	}
	if number != l.stamp.Number { // an earlier call ended between its commit and done
		if number != l.unfinished.Stamp.Number {
			l.taken.Store(true)
			return l.Look()
		}
		if err := l.unfinished.Done(); err != nil {
			return err
		}
		l.stamp = l.unfinished.Stamp
	}
	r, err := l.stamp.Prepare(l.path, l.file)
	if err != nil {
		return err
	}
	l.unfinished = r
	var before int64
	if err := l.write(ctx, results, func(t *tx) error {
		before = l.writer.check.commits.Load()
		if n, err := t.exec(sqlSetNumber, r.Stamp.Number, r.Files.String(), number); err != nil || n == 1 {
			return err
		}
		return campaign.ErrFenced // the next call tells who has taken it
	}); err != nil {
		return err
	}
	if err := r.Done(); err != nil {
		return err
	}
	l.stamp, l.renewedAt = r.Stamp, before+1 // the transaction of this renewal counts too
	return nil
}
