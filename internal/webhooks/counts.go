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
	Taken    uint64               // requests answered 2xx
	Rejected map[Rejection]uint64 // every Rejection is a key
	Events   map[string]uint64    // verified events by messaging.Kind; every kind is a key
	Clamped  uint64               // events with a time more than 5 minutes ahead
	Nobody   uint64               // opt-outs and preferences whose sender is not a phone number

	Templates map[string]uint64 // template events by campaign.TemplateEffect; every effect is a key

	Commits       uint64
	CommitsFailed uint64
	Committed     uint64        // facts stored
	Committing    time.Duration // in all
	Waiting       int64         // facts queued now

	Matched, Repeated, Orphaned uint64 // statuses, by what Apply did with them

	Sweeps, SweepsFailed              uint64
	SweptMatched, Adopted, OrphansOld uint64 // orphans that found their message, doubts that were settled, orphans dropped by age
	Orphans                           int64  // left after the last sweep
	Ambiguous                         int64  // of those left, that fit several candidates

	// Verified is when the last verified event of each connection came; "" is for events that name none.
	Verified map[string]time.Time
}

// counters are the same while they count.
type counters struct {
	taken    atomic.Uint64
	rejected []atomic.Uint64 // by Rejection.index
	kinds    [messaging.KindAccount + 1]atomic.Uint64
	clamped  atomic.Uint64
	nobody   atomic.Uint64

	templates [campaign.TemplateResumes + 1]atomic.Uint64

	last sync.Map // connection -> *atomic.Int64: unix nanoseconds

	mu     sync.Mutex // of the writer's and the sweeper's figures
	counts Counts
}

func (c *counters) verified(connection string, at time.Time) {
	v, ok := c.last.Load(connection)
	if !ok {
		v, _ = c.last.LoadOrStore(connection, new(atomic.Int64))
	}
	v.(*atomic.Int64).Store(at.UnixNano())
}

func (c *counters) committed(events int, took time.Duration, a campaign.Applied, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Commits++
	c.counts.Committing += took
	if err != nil {
		c.counts.CommitsFailed++
		return
	}
	c.counts.Committed += uint64(events)
	c.counts.Matched += uint64(a.Matched)
	c.counts.Repeated += uint64(a.Repeated)
	c.counts.Orphaned += uint64(a.Orphaned)
}

func (c *counters) swept(s campaign.Swept, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Sweeps++
	// A sweep that failed may have committed some of its steps.
	c.counts.SweptMatched += uint64(s.Matched)
	c.counts.Adopted += uint64(s.Adopted)
	c.counts.OrphansOld += uint64(s.Expired)
	if err != nil {
		c.counts.SweepsFailed++
		return
	}
	c.counts.Orphans, c.counts.Ambiguous = int64(s.Left), int64(s.Ambiguous)
}

// left forgets what the last sweep left: another process sweeps, and counts it.
func (c *counters) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Orphans, c.counts.Ambiguous = 0, 0
}

// Counts gives a snapshot, for metrics.
func (i *Intake) Counts() Counts {
	c := &i.counters
	c.mu.Lock()
	out := c.counts
	c.mu.Unlock()
	out.Taken, out.Clamped, out.Nobody, out.Waiting = c.taken.Load(), c.clamped.Load(), c.nobody.Load(), i.waiting.Load()
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
		out.Templates[campaign.TemplateEffect(effect).String()] = c.templates[effect].Load()
	}
	out.Verified = map[string]time.Time{}
	c.last.Range(func(connection, at any) bool {
		out.Verified[connection.(string)] = time.Unix(0, at.(*atomic.Int64).Load()).UTC()
		return true
	})
	return out
}
