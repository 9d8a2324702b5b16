package sandbox

import (
	"strconv"
	"sync"
	"time"
)

// maxDeliveries is the number of deliveries that webhook_deliveries knows; older ones are
// forgotten.
const maxDeliveries = 10_000

// delivered is one event for one endpoint, from its first posting on.
type delivered struct {
	endpoint  uint16
	n         int
	item      item // without the log, for the id of the event
	typ       string
	state     string // pending, delivered or failed
	attempts  int
	status    int // of the last answer; 0: none came
	createdAt time.Time
}

// deliveryLog has the last deliveries.
type deliveryLog struct {
	mu   sync.Mutex
	ring []*delivered
	n    int // number of all deliveries so far
}

// begin returns the delivery of an item, which it adds at the first posting.
func (l *deliveryLog) begin(it item, typ string, now time.Time) *delivered {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := it.log
	if d == nil {
		l.n++
		d = &delivered{endpoint: it.endpoint, n: l.n, item: it, typ: typ, createdAt: now}
		if len(l.ring) < maxDeliveries {
			l.ring = append(l.ring, d)
		} else {
			l.ring[(l.n-1)%maxDeliveries] = d
		}
	}
	d.state = "pending"
	d.attempts++
	return d
}

// end records the answer of an attempt. state is pending if another attempt follows.
func (l *deliveryLog) end(d *delivered, state string, status int) {
	if d == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d.state, d.status = state, status
}

// of returns the deliveries to an endpoint in a state, newest first. An empty state means all.
func (l *deliveryLog) of(endpoint int, state string) (found []delivered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for back := range len(l.ring) {
		d := l.ring[(l.n-1-back)%maxDeliveries]
		if int(d.endpoint) == endpoint && (state == "" || d.state == state) {
			found = append(found, *d)
		}
	}
	return found
}

// eventID is the id of an event, the same in every posting.
func (s *Sandbox) eventID(it item) string {
	return "evt_" + strconv.FormatUint(mix(s.boot, uint64(drawEvent), uint64(it.slot), uint64(it.index)), 36)
}
