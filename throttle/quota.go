package throttle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Quota is a limit of how many messages a period has: a plan's allowance of a month, the ramp of a
// number for a day. One unit counts for each message that was accepted, or may have been accepted
// (docs/limits.md#allowance).
type Quota struct {
	// Key names the quota: all that use the same key share its units.
	Key string
	// From and To are the begin and the end of the period; To is not in it.
	From, To time.Time
	// Limit is the number of units of the period. It may change while the period lasts.
	Limit int64
	// Kept is how many units of Limit only a request with Ask.Reserve gets.
	Kept int64
}

// Ask is a request for units.
type Ask struct {
	N       int  // how many units are wanted; 0: units are only given back
	Reserve bool // the request may also have units of Quota.Kept
	// Back is how many units of Generation are given back. They were not used, or the service refused
	// their messages.
	Back       int
	Generation int64
}

// Units are the answer to a request.
type Units struct {
	N        int
	Reserved bool // the units are of Quota.Kept: only messages that may have the reserve use them
	// Generation is for Ask.Generation. It changes when the count is rebuilt.
	Generation int64
	// Until is when the units must be used, by the local clock. Unused units are given back.
	Until time.Time
	// Wait is how long the caller waits before it asks again, if N is 0.
	Wait time.Duration
	// Rebuild is not 0 when the count of the period is lost or not known yet. The caller counts in the
	// ledger what the period has used, and calls Restore with this number.
	Rebuild int64
	// Empty means that the period has no units left for the request.
	Empty bool
}

// Counter leases the units of quotas. Local and Redis pass the same suite. It promises that the
// used units of a period never exceed Quota.Limit. For that, every message takes a unit before its
// intent is committed, the commit ends within UnitsFor + UnitsGrace of the lease, and Restore gets
// the ledger's count.
type Counter interface {
	// Take leases up to Ask.N units of q, at most Chunk, and takes back what the caller gives back. It
	// does not wait for units. Units of an earlier generation, or of another period, are not taken
	// back. The error wraps ErrQuota for impossible arguments, ErrUnavailable while the limiter cannot
	// answer, or is the context's. After an error Ask.Back is lost.
	Take(ctx context.Context, q Quota, a Ask) (Units, error)

	// Restore sets the count of q to used, the units that the ledger counts. rebuild is Units.Rebuild
	// of a Take; the caller asks the ledger after that Take. Restore reports false if the count was
	// lost again since, or if another caller has restored it.
	Restore(ctx context.Context, q Quota, rebuild, used int64) (bool, error)
}

// ErrQuota is wrapped by the error of a Take that is a mistake of the caller.
var ErrQuota = errors.New("no such quota")

// Chunk is the most units of one lease. When a process dies, the chunks of its numbers, one for
// each, cannot be used until the count is rebuilt.
const Chunk = 256

// A lease near the end of a quota is smaller: what is left divided by chunkPart, at least
// chunkLeast.
const (
	chunkPart  = 64
	chunkLeast = 16
)

// UnitsFor is how long leased units may be used. UnitsGrace is how long after that the commit of an
// intent that began in time may take.
const (
	UnitsFor   = 5 * time.Second
	UnitsGrace = 2 * time.Second
)

// rebuildAfter is how long nothing is leased after the loss of a count. After that time every unit
// that was leased before is in the ledger, or cannot be used any more. 8s: UnitsFor + UnitsGrace +
// 1 s for the commit to be seen.
const rebuildAfter = 8 * time.Second

// countFor is how long one caller has for the count in the ledger, before another may try.
const countFor = 10 * time.Second

// recountAfter is how often a quota without units is counted again, because dead processes may have
// left some unused.
const recountAfter = 10 * time.Minute

// askAgain is how often a quota without units is asked, because others may give units back.
const askAgain = 2 * time.Second

// check reports a mistake of the caller, as ErrQuota.
func (q Quota) check(a Ask) error {
	switch {
	case q.Key == "":
		return fmt.Errorf("%w: the key is empty", ErrQuota)
	case !q.From.Before(q.To):
		return fmt.Errorf("%w: %s: the period from %v to %v is empty", ErrQuota, q.Key, q.From, q.To)
	case q.Limit < 0 || q.Kept < 0 || q.Kept > q.Limit:
		return fmt.Errorf("%w: %s: %d units, %d of them kept", ErrQuota, q.Key, q.Limit, q.Kept)
	case a.N < 0 || a.Back < 0:
		return fmt.Errorf("%w: %s: %d units wanted, %d given back", ErrQuota, q.Key, a.N, a.Back)
	}
	return nil
}

// share is how many of n wanted units are leased, and whether they are units of Kept. bucket.lua
// has the same.
func (q Quota) share(used int64, n int, reserve bool) (granted int64, reserved bool) {
	left := q.Limit - q.Kept - used
	if reserve && left <= 0 {
		left, reserved = q.Limit-used, true
	}
	return max(min(int64(n), Chunk, left, max(left/chunkPart, chunkLeast)), 0), reserved
}
