package sandbox

import (
	"context"
	"sync"
	"time"

	"campaignd/internal/sandbox/area"
)

// flags are the special properties of one posting.
type flags uint8

const (
	flagForged         flags = 1 << iota // the first posting has a wrong signature
	flagWrongRecipient                   // the event names another recipient
	flagCopy                             // another posting of the same status comes first
)

// item is one event for one endpoint, to be posted at an instant.
type item struct {
	post     int64  // Unix nanoseconds
	order    uint64 // order in the shard of the items with the same post
	index    uint32 // index of the record or the extra
	endpoint uint32 // its number: an item has no pointer, so that the collector does not read all of them
	slot     slot
	attempt  uint8 // number of retries so far
	flags    flags
}

func (a item) before(b item) bool {
	return a.post < b.post || a.post == b.post && a.order < b.order
}

// shares reports whether a may be in the same request as b, the first item of the request.
func (a item) shares(b item) bool {
	return a.endpoint == b.endpoint && a.slot != slotStop && a.flags&flagForged == b.flags&flagForged
}

// shard posts the events of some messages, one delivery at a time, so that the statuses of a
// message keep their order.
type shard struct {
	mu    sync.Mutex
	heap  []item // the item that is due first is on top
	order uint64
	logs  map[uint64]*area.Delivery // by item.order, of the items that were posted before
	wake  chan struct{}

	ready []item // items of a batch that is not full yet; only the goroutine of the shard uses it
	buf   []byte // a body; only the goroutine of the shard uses it
}

func newShard() *shard {
	return &shard{logs: map[uint64]*area.Delivery{}, wake: make(chan struct{}, 1)}
}

// push adds an item. log is its delivery if it was posted before; the others have none, because a
// field of item would take room for each event to come.
func (sh *shard) push(it item, log *area.Delivery) {
	sh.mu.Lock()
	sh.order++
	it.order = sh.order
	if log != nil {
		sh.logs[it.order] = log
	}
	sh.heap = append(sh.heap, it)
	i := len(sh.heap) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !sh.heap[i].before(sh.heap[up]) {
			break
		}
		sh.heap[i], sh.heap[up] = sh.heap[up], sh.heap[i]
		i = up
	}
	sh.mu.Unlock()
	if i == 0 { // the item is due first, and the goroutine may sleep until a later one
		select {
		case sh.wake <- struct{}{}:
		default:
		}
	}
}

// takeLog removes and returns the delivery of an item that was posted before, or returns nil.
func (sh *shard) takeLog(it item) *area.Delivery {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	log := sh.logs[it.order]
	delete(sh.logs, it.order)
	return log
}

// pop removes and returns the top of the heap. The caller holds sh.mu.
func (sh *shard) pop() item {
	top := sh.heap[0]
	n := len(sh.heap) - 1
	sh.heap[0] = sh.heap[n]
	sh.heap = sh.heap[:n]
	for i := 0; ; {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && sh.heap[child+1].before(sh.heap[child]) {
			child++
		}
		if !sh.heap[child].before(sh.heap[i]) {
			break
		}
		sh.heap[i], sh.heap[child] = sh.heap[child], sh.heap[i]
		i = child
	}
	return top
}

// take returns the items to post now. If there are none, it returns nil and the time to wait; a
// negative time means to wait for sh.wake.
func (sh *shard) take(now int64, batch int, linger time.Duration) (due []item, wait time.Duration) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	full := false
	for len(sh.heap) > 0 && sh.heap[0].post <= now && !full {
		if len(sh.ready) > 0 && !sh.heap[0].shares(sh.ready[0]) {
			full = true // the next item cannot be in the same request
			break
		}
		sh.ready = append(sh.ready, sh.pop())
		full = len(sh.ready) >= batch || sh.ready[0].slot == slotStop
	}
	wait = -1
	if len(sh.ready) > 0 {
		age := now - sh.ready[0].post
		if full || batch == 1 || age >= int64(linger) {
			return sh.ready, 0
		}
		wait = linger - time.Duration(age)
	}
	if len(sh.heap) > 0 && !full {
		if d := time.Duration(sh.heap[0].post - now); wait < 0 || d < wait {
			wait = d
		}
	}
	return nil, wait
}

// shardOf returns the shard of all events of one message.
func (s *Sandbox) shardOf(index uint32) *shard { return s.shards[int(index)%len(s.shards)] }

// push schedules a posting for every endpoint that wants it, or for only one of them unless that is
// nil. It returns the number of endpoints.
func (s *Sandbox) push(st posting, index uint32, only *area.Endpoint) (n int) {
	it := item{post: st.post.UnixNano(), index: index, slot: st.slot, flags: st.flags}
	if st.slot == slotStop {
		s.pending.Add(1)
		s.shardOf(index).push(it, nil)
		return 1
	}
	typ, company := s.about(it)
	for _, ep := range s.areas.Endpoints() {
		if (only == nil || only == ep) && ep.Wants(typ, company) {
			it.endpoint = ep.Number
			s.pending.Add(1)
			s.shardOf(index).push(it, nil)
			n++
		}
	}
	return n
}

// work posts the events of a shard until ctx ends.
func (s *Sandbox) work(ctx context.Context, sh *shard) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		items, wait := sh.take(time.Now().UnixNano(), s.opt.Events.Batch, s.opt.Events.Linger)
		if items != nil {
			s.deliver(ctx, sh, &sh.buf, items)
			sh.ready = sh.ready[:0]
			continue
		}
		var due <-chan time.Time
		if wait >= 0 {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-sh.wake:
		case <-due:
		}
	}
	for _, it := range sh.ready { // the next Run posts them
		sh.push(it, sh.takeLog(it))
	}
	sh.ready = sh.ready[:0]
}
