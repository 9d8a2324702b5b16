package ledger

import (
	"log/slog"
	"sync"
	"time"

	"campaignd/campaign"
)

// Outage knows whether a ledger takes writes. Senders, the intake and the jobs all repeat a call
// that failed, so the ledger alone logs the outage: one line when it begins and one when it ends.
// `run`, which prints warnings, shows both.
type Outage struct {
	Log  *slog.Logger
	Name string // of the ledger

	mu       sync.Mutex
	failures int       // of calls, since the outage began; 0: there is none
	began    time.Time // the first of them
	last     time.Time // the last of them
	err      error     // of the last
	since    time.Time // the first failure after the last write that succeeded; zero: none
}

// outageQuiet is how long no call must fail before an outage is over. On a full disk small
// transactions still find space while large ones fail. Without this time, each of them would end
// the outage, and the next failure would begin it again.
const outageQuiet = 10 * time.Second

// Failed notes a call that failed with err, an explained error, because the ledger takes no writes
// or cannot be reached. It returns err as campaign.ErrUnwritable. The second failure logs the
// outage: a command that writes once returns its error, and needs no line of the log.
func (o *Outage) Failed(err error) error {
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
		o.Log.Error("the ledger takes no writes: nothing is sent, results wait, and webhooks are answered 503 until it does", "err", err)
	}
	return unwritable{err}
}

// Wrote notes a transaction that changed something.
func (o *Outage) Wrote() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.since = time.Time{}
	now := time.Now()
	if o.failures == 0 || now.Sub(o.last) < outageQuiet {
		return
	}
	if o.failures > 1 {
		o.Log.Warn("the ledger takes writes again", "ledger", o.Name, "after", o.last.Sub(o.began).Round(time.Second))
	}
	o.failures = 0
}

// Logged reports whether there is an outage that was logged.
func (o *Outage) Logged() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failures > 1
}

// Since returns when the calls began to fail, and the error of the last one; nil when the last
// write succeeded.
func (o *Outage) Since() (since time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		return time.Time{}, nil
	}
	return o.since, o.err
}

// unwritable is an error of a call during an outage, which the ledger has logged.
type unwritable struct{ error }

func (e unwritable) Unwrap() []error { return []error{campaign.ErrUnwritable, e.error} }
