package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"campaignd/campaign"
	"campaignd/internal/filelock"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
	"campaignd/internal/ledger/sqlite/dbfile"
)

// readers is how many connections read at once: for reports, why, the sweeper and the lanes.
const readers = 4

// Ledger is a ledger in one file. See the package comment.
type Ledger struct {
	portable.Ledger

	path    string // without links
	log     *slog.Logger
	lock    *filelock.Lock // nil unless opened as sender
	options ledger.Options // as it was opened

	reads     *sql.DB
	writes    *sql.DB        // one connection, of the writer
	checks    *sql.DB        // one connection, for checkpoints
	writer    *writer        // nil when read-only
	id        string         // see LedgerID
	key       ledger.HashKey // of message ids
	sweepAt   sweepPos       // where the next sweep goes on
	adoptedTo atomic.Int64   // the recipient's key up to which the search for adoptions has come; 0: it starts anew
	tiers     ledger.Tiers
	aliveAt   atomic.Int64 // the newest time in the ledger, in milliseconds
	trusted   func() bool  // reports whether this machine's clock is right; nil: it is

	restored atomic.Pointer[error] // why the ledger waits for its quarantine; nil when it does not
	gone     atomic.Pointer[error] // why the open files are not those at path; nil while they are (Look)

	file   dbfile.ID            // of the file at path
	opened map[string]dbfile.ID // the files that must stay as they are while the ledger is open
	taken  atomic.Bool          // another process took the ledger for sending

	renewing   sync.Mutex     // of what follows, which only a sender has
	stamp      dbfile.Stamp   // that of ledger and companion
	unfinished dbfile.Renewal // the last one that was begun
	renewedAt  int64          // how many transactions the writer had committed at the last renewal

	copied   string   // the temporary folder of a copy; "": the file itself is open
	original string   // the path of the file that was copied there
	prepared sync.Map // query -> *sql.Stmt on reads
	closing  sync.Once
	closeErr error
	closed   atomic.Bool
	outage   ledger.Outage
}

var (
	_ campaign.Ledger    = (*Ledger)(nil)
	_ ledger.Copyable    = (*Ledger)(nil)
	_ ledger.Diagnosable = (*Ledger)(nil)
	_ ledger.Sendable    = (*Ledger)(nil)
)

// Open opens the ledger in the file path and brings its schema up to date. It makes a file that
// does not exist, but not its folder. The caller ends the ledger with Close.
//
// Errors: campaign.ErrLocked when another sender has the ledger open, campaign.ErrNewer when its
// schema is of a later generation than this program's (ledger.CheckSchema), ledger.ErrRestored when
// it is opened as a sender and went back in time. Every other error is a sentence that names the
// file and the remedy.
func Open(ctx context.Context, path string, o ledger.Options) (*Ledger, error) {
	l, err := openWith(ctx, "sqlite", path, o)
	if err == nil || !o.Copy || !notWritable(err) {
		return l, err
	}
	return openUnwritable(ctx, path, o)
}

// openWith opens through a named driver of database/sql: tests wrap SQLite's.
func openWith(ctx context.Context, driver, path string, o ledger.Options) (_ *Ledger, err error) {
	if o, err = o.Check(); err != nil {
		return nil, err
	}
	if err := dbfile.CheckFile(path, o); err != nil {
		return nil, err
	}
	given := path
	if path, err = dbfile.Resolve(given); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if err := errors.Join(registerClock(), registerCountedRows()); err != nil {
		return nil, err
	}
	l := &Ledger{path: path, log: o.Log, options: o, outage: ledger.Outage{Log: o.Log, Name: path}}
	l.Ledger = portable.New(store{l}, ownStatements, o)
	defer func() {
		if err != nil {
			_ = l.Close()
		}
	}()
	if o.Sender {
		if l.lock, err = filelock.Take(path + ".lock"); err != nil {
			return nil, explainLock(err)
		}
		dbfile.TakeCompanion(given, path)
	}
	if l.reads, err = sql.Open(driver, dbfile.DSN(path, "mode="+readMode(o), "_pragma=query_only(1)")); err != nil {
		return nil, explain(path, err)
	}
	l.reads.SetMaxOpenConns(readers)
	l.reads.SetMaxIdleConns(readers)
	if o.ReadOnly {
		if err := l.checkSchema(ctx); err != nil {
			return nil, explain(path, err)
		}
		return l, explain(path, l.readIdentity(ctx))
	}
	if err := dbfile.Create(path); err != nil {
		return nil, err
	}
	if l.file, err = dbfile.IDOf(path); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	if l.writes, err = sql.Open(driver, dbfile.DSN(path, "mode=rw", "_txlock=immediate")); err != nil {
		return nil, explain(path, err)
	}
	l.writes.SetMaxOpenConns(1)
	if err := l.migrateBeside(ctx); err != nil {
		return nil, explain(path, err)
	}
	if err := l.identify(ctx, o); err != nil {
		return nil, explain(path, err)
	}
	if l.checks, err = sql.Open(driver, dbfile.DSN(path, "mode=rw")); err != nil {
		return nil, explain(path, err)
	}
	l.checks.SetMaxOpenConns(1)
	// Now, and not at the first checkpoint: the path may name another file then.
	if err := l.checks.PingContext(ctx); err != nil {
		return nil, explain(path, err)
	}
	if l.writer, err = startWriter(ctx, l); err != nil {
		return nil, explain(path, err)
	}
	l.remember()
	_, err = l.Clock(ctx)
	return l, explain(path, err)
}

// explainLock adds the remedy to the error of a lock.
func explainLock(err error) error {
	var taken *filelock.HeldError
	if errors.As(err, &taken) {
		return fmt.Errorf("%w: %w; stop it first, or use the commands that work beside it (launch, report, pause, resume)",
			campaign.ErrLocked, taken)
	}
	return fmt.Errorf("ledger lock: %w: the ledger's folder must be writable by this user, or set `ledger` to another path", err)
}

func readMode(o ledger.Options) string {
	if o.ReadOnly {
		return "ro"
	}
	return "rw"
}

// Close commits the operations that wait, moves the write-ahead log into the file and releases the
// lock. Later calls of other methods fail; another Close returns the same error.
func (l *Ledger) Close() error {
	l.closing.Do(func() {
		// A copy that was made in the last seconds is noticed too, unless the disk is full.
		_ = l.renew(context.Background()) //nolint:contextcheck // the ledger is closed whatever has ended
		l.closed.Store(true)
		var errs []error
		if l.writer != nil {
			errs = append(errs, l.writer.stop())
		}
		l.prepared.Range(func(_, s any) bool {
			errs = append(errs, s.(*sql.Stmt).Close())
			return true
		})
		for _, db := range []*sql.DB{l.reads, l.checks, l.writes} {
			if db != nil {
				errs = append(errs, db.Close())
			}
		}
		if l.lock != nil {
			errs = append(errs, l.lock.Release())
		}
		if l.copied != "" {
			errs = append(errs, os.RemoveAll(l.copied))
		}
		l.closeErr = errors.Join(errs...)
	})
	return l.closeErr
}

// Path is the path that the ledger was opened with.
func (l *Ledger) Path() string { return l.path }
