package webhooks

import (
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

// Counts is what the Intake has seen since it was made.
type Counts struct {
	// Taken counts the requests that were answered 2xx.
	Taken uint64
	// Rejected counts the other requests. Every Rejection is a key.
	Rejected map[Rejection]uint64
	// Events counts the verified events by messaging.Kind. Every kind is a key.
	Events map[string]uint64
	// Nobody counts the opt-outs, resumed preferences, unreachable numbers and moves of persons whose
	// phone number neither the event nor the ledger told when it came.
	Nobody uint64
	// ForeignMarks counts the statuses of the platform whose mark is of another ledger, or forged.
	ForeignMarks uint64
	// Ignored counts the events whose signature does not vouch for what they name.
	Ignored uint64
	// Templates counts the template events by their effect on holds. Every effect is a key.
	Templates map[string]uint64

	// Commits counts all commits, CommitsFailed those that failed.
	Commits, CommitsFailed uint64
	// Waiting is the number of facts in the queue now.
	Waiting int64

	// Matched, Repeated and Orphaned count the statuses by what Apply did with them.
	Matched, Repeated, Orphaned uint64

	// SweepsFailed counts the sweeps that failed.
	SweepsFailed uint64
	// Adopted counts the doubts that an orphan proved, OrphansOld the orphans that were dropped
	// because of their age.
	Adopted, OrphansOld uint64
	// Orphans is the number of orphans left after the last sweep, Ambiguous the number of those that
	// fit several candidates.
	Orphans, Ambiguous int64

	// Verified is the time of the last verified event of each connection. The key "" is for events
	// that name no connection.
	Verified map[string]time.Time
	// Since is when the Intake was made.
	Since time.Time
}

// LastVerified is the time of the last verified event of any connection, zero if there was none.
func (c Counts) LastVerified() (last time.Time) {
	for _, at := range c.Verified {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// counters count what Counts returns.
type counters struct {
	taken    atomic.Uint64
	rejected []atomic.Uint64 // by Rejection.index
	kinds    [messaging.KindAccount + 1]atomic.Uint64
	nobody   atomic.Uint64
	foreign  atomic.Uint64

	templates [eventLifts + 1]atomic.Uint64

	labels atomic.Int64 // entries of last, and attempts at more
	last   sync.Map     // connection -> *atomic.Int64: unix nanoseconds

	mu     sync.Mutex // guards counts
	counts Counts     // the numbers of the writer and the sweeper
}

// maxVerified bounds the connections of Counts.Verified, each of which is a label of a metric.
// Later ones count as an event without a connection.
const maxVerified = 2000

func (c *counters) verified(connection string, at time.Time) {
	v, ok := c.last.Load(connection)
	if !ok {
		if c.labels.Add(1) > maxVerified {
			connection = ""
		}
		v, _ = c.last.LoadOrStore(connection, new(atomic.Int64))
	}
	v.(*atomic.Int64).Store(at.UnixNano())
}

func (c *counters) committed(a campaign.Applied, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Commits++
	if err != nil {
		c.counts.CommitsFailed++
		return
	}
	c.counts.Matched += uint64(a.Matched)
	c.counts.Repeated += uint64(a.Repeated)
	c.counts.Orphaned += uint64(a.Orphaned)
	c.nobody.Add(uint64(a.Unattributed))
}

func (c *counters) swept(s campaign.Swept, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A sweep that fails may have committed some of its steps.
	c.counts.Adopted += uint64(s.Adopted)
	c.counts.OrphansOld += uint64(s.Expired)
	if err != nil {
		c.counts.SweepsFailed++
		return
	}
	c.counts.Orphans, c.counts.Ambiguous = int64(s.Left), int64(s.Ambiguous)
}

// sweptElsewhere sets the counts of the last sweep to 0: another process sweeps, and has them.
func (c *counters) sweptElsewhere() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Orphans, c.counts.Ambiguous = 0, 0
}

// Counts returns a snapshot for the metrics.
func (i *Intake) Counts() Counts {
	c := &i.counters
	c.mu.Lock()
	out := c.counts
	c.mu.Unlock()
	out.Taken, out.Nobody, out.Waiting = c.taken.Load(), c.nobody.Load(), i.waiting.Load()
	out.ForeignMarks, out.Ignored = c.foreign.Load(), i.ignored.n.Load()
	out.Rejected = make(map[Rejection]uint64, len(rejections))
	for n, r := range rejections {
		out.Rejected[r.Rejection] = c.rejected[n].Load()
	}
	out.Events = make(map[string]uint64, len(c.kinds))
	for k := range c.kinds {
		out.Events[messaging.Kind(k).String()] = c.kinds[k].Load()
	}
	out.Templates = make(map[string]uint64, len(c.templates))
	for effect := range c.templates {
		out.Templates[eventEffect(effect).String()] = c.templates[effect].Load()
	}
	out.Since = i.made
	out.Verified = map[string]time.Time{}
	c.last.Range(func(connection, at any) bool {
		out.Verified[connection.(string)] = time.Unix(0, at.(*atomic.Int64).Load()).UTC()
		return true
	})
	return out
}
