package area

import (
	"sync"
	"time"
)

// maxDeliveries is the number of deliveries that webhook_deliveries knows; older ones are
// forgotten.
const maxDeliveries = 10_000

// Delivery is one event for one endpoint, from its first posting on.
type Delivery struct {
	endpoint  *Endpoint
	n         int
	event     string // its id
	typ       string
	state     string // pending, delivered or failed
	attempts  int
	status    int // of the last answer; 0: none came
	createdAt time.Time
}

// Deliveries has the last deliveries. It has its own lock.
type Deliveries struct {
	mu   sync.Mutex
	ring []*Delivery
	n    int // number of all deliveries so far
}

// Begin counts an attempt to deliver an event. d is nil at the first one, which adds the delivery.
// event is the id of the event.
func (l *Deliveries) Begin(d *Delivery, e *Endpoint, event string, typ string, now time.Time) *Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d == nil {
		l.n++
		d = &Delivery{endpoint: e, n: l.n, event: event, typ: typ, createdAt: now}
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

// End records the answer of an attempt. The state is pending if another attempt follows.
func (l *Deliveries) End(d *Delivery, state string, status int) {
	if d == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d.state, d.status = state, status
}

// of returns the deliveries to an endpoint in a state, newest first. An empty state means all.
func (l *Deliveries) of(e *Endpoint, state string) (found []Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for back := range len(l.ring) {
		d := l.ring[(l.n-1-back)%maxDeliveries]
		if d.endpoint == e && (state == "" || d.state == state) {
			found = append(found, *d)
		}
	}
	return found
}
