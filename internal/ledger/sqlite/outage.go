package sqlite

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"campaignd/campaign"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// outage knows whether the file takes writes. Senders, the intake and the jobs all repeat a write
// that failed, so the ledger alone logs the outage: one line when it begins and one when it ends.
// `run`, which prints warnings, shows both.
type outage struct {
	log  *slog.Logger
	path string

	mu       sync.Mutex
	failures int       // of transactions, since the outage began; 0: there is none
	began    time.Time // the first of them
	last     time.Time // the last of them
	err      error     // of the last
	since    time.Time // the first failure after the last write that succeeded; zero: none
}

// outageQuiet is how long no write must fail before an outage is over. On a full disk small
// transactions still find room in the write-ahead log while large ones fail: without it, they would
// end and begin the outage again and again.
const outageQuiet = 10 * time.Second

// failed takes note of a transaction that failed with err. The second one is logged: a command that
// writes once returns its error, and needs no line beside it.
func (o *outage) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.last = err, time.Now()
	if o.since.IsZero() {
		o.since = o.last
	}
	if o.failures++; o.failures == 1 {
		o.began = o.last
	}
	if o.failures == 2 {
		o.log.Error("the ledger takes no writes: nothing is sent, results wait, and webhooks are answered 503 until it does",
			"err", explain(o.path, err))
	}
}

// wrote takes note of a transaction that changed something.
func (o *outage) wrote() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.since = time.Time{}
	now := time.Now()
	if o.failures == 0 || now.Sub(o.last) < outageQuiet {
		return
	}
	if o.failures > 1 {
		o.log.Warn("the ledger takes writes again", "ledger", o.path, "after", o.last.Sub(o.began).Round(time.Second))
	}
	o.failures = 0
}

// logged reports whether there is an outage that was logged.
func (o *outage) logged() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failures > 1
}

// Unwritable returns since when each write to the file has failed, and the error of the last one;
// nil when the last write succeeded.
func (l *Ledger) Unwritable() (since time.Time, err error) {
	o := &l.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return time.Time{}, nil
	}
	return o.since, explain(l.path, o.err)
}

// takesNoWrites reports whether err is that of a disk that is full or fails, or of a file that
// became read-only.
func takesNoWrites(err error) bool {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return false
	}
	switch se.Code() & 0xff {
	case sqlitelib.SQLITE_FULL, sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_READONLY:
		return true
	}
	return false
}

// unwritable is an error of a write during an outage, which the ledger has logged.
type unwritable struct{ error }

func (e unwritable) Unwrap() []error { return []error{campaign.ErrUnwritable, e.error} }
