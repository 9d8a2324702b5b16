package sandbox

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"campaignd/internal/sandbox/area"
	"campaignd/internal/sandbox/draw"
)

// slot is a status of a message, or another event that a shard handles when it is due.
type slot uint8

const (
	slotSent slot = iota
	slotDelivered
	slotRead
	slotFailed
	statusSlots
	slotExtra  // item.index is an index of Sandbox.extras
	slotStop   // the recipient writes STOP
	slotOrphan // a status of a message that nobody sent
)

func (s slot) String() string {
	return [...]string{"sent", "delivered", "read", "failed", "", "extra", "stop", "orphan"}[s]
}

// record is an accepted message. It takes about 250 bytes with its values.
type record struct {
	to      uint64
	at      int64 // Unix nanoseconds
	values  []string
	kind    string // name of the content field
	tpl     *area.Record
	marks   [statusSlots]mark
	conn    uint16 // index of Sandbox.connections
	nth     uint16 // number of accepted messages of this pair, including this one
	lost    fault  // the fault that replaced the answer; 0: none
	warning bool
	mark    string // of the Cloud API
}

// mark is one status of a message.
type mark struct {
	at      int64  // when it happens, Unix nanoseconds; 0: never
	acked   int64  // first 2xx, Unix nanoseconds; 0: none
	code    int32  // platform code of failed
	posts   uint16 // number of postings
	missing bool   // Faults.Missing: not posted
}

// chunkSize is the number of records that share a lock and an allocation.
const chunkSize = 1024

// records is an append-only list. Adding a record does not copy the others.
type records struct {
	mu     sync.RWMutex
	chunks []*chunk
	n      uint32
}

type chunk struct {
	mu  sync.Mutex
	rec [chunkSize]record
}

func (r *records) add(rec record) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.n
	if i%chunkSize == 0 {
		r.chunks = append(r.chunks, new(chunk))
	}
	c := r.chunks[i/chunkSize]
	c.mu.Lock()
	c.rec[i%chunkSize] = rec
	c.mu.Unlock()
	r.n++
	return i
}

func (r *records) len() uint32 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.n
}

// with calls f with record i while it holds the lock of the record.
func (r *records) with(i uint32, f func(*record)) {
	r.mu.RLock()
	c := r.chunks[i/chunkSize]
	r.mu.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.rec[i%chunkSize])
}

func (r *records) answered(i uint32, how fault) { r.with(i, func(rec *record) { rec.lost = how }) }

// posting is one event of a message that the shards post later.
type posting struct {
	slot    slot
	at      time.Time // when the status happens: its timestamp
	post    time.Time // when it is posted
	code    int
	missing bool
	flags   flags
}

// accept accepts the message and plans its statuses. The caller holds s.mu.
func (s *Sandbox) accept(f *Faults, p *post, now time.Time, warning string) accepted {
	c := p.conn
	c.company.plan.used++ // a refused send does not count (docs/service.md#send-request)
	c.taken.Add(now)
	c.accepted++
	k := pairKey(c.number, p.to)
	pr := s.pairs[k]
	pr.accepted++
	s.pairs[k] = pr

	rec := record{
		to: p.to, at: now.UnixNano(), conn: uint16(c.number), nth: uint16(min(pr.accepted, 1<<16-1)),
		tpl: p.tpl, warning: warning != "", mark: p.mark,
	}
	_, rec.kind = p.m.Contents()
	category := ""
	switch m := p.m; {
	case m.Template != nil:
		category = p.tpl.Category
		rec.values = m.Template.Body
		for _, b := range m.Template.Buttons {
			rec.values = append(rec.values, b.Text)
		}
		if m.Template.OTP != nil {
			rec.values = append(rec.values, *m.Template.OTP)
		}
	case m.Text != nil:
		rec.values = []string{*m.Text}
	}
	l := s.lifeOf(p.to, rec.nth, category, now)
	if later, ok := s.failsLater(f, p, uint64(rec.nth)); ok {
		l = later
	}
	person := pairKey(c.company.number, p.to)
	_, stopped := s.stopped[person]
	if _, out := s.optedOut[person]; out { // only the service refuses it before the send
		stopped = true
	}
	switch {
	case warning == "outside_service_window" && s.opt.Statuses.OutsideWindow == "dropped":
		l = life{fate: FateSilent}
	case warning == "outside_service_window":
		l = life{fate: FateFailed, code: 131047, noSent: true}
	case stopped && category == "MARKETING":
		l = life{fate: FateFailed, code: 131050, noSent: true} // accepted, then failed (docs/service.md#opt-outs)
	case s.opt.EnforceTier && !s.windowOpen(c, p.to, now) && !c.portfolio.reach(p.to, now.UnixNano(), tierLimits[c.Tier]):
		s.fired[faultTier].Add(1)
		l = life{fate: FateFailed, code: s.opt.TierCode, noSent: true}
	}
	got := accepted{before: c.last, warning: warning}
	got.postings = s.planPostings(f, &rec, l)
	got.index = s.records.add(rec)
	got.id = wamid(s.boot, p.to, 0x11, uint64(got.index))
	c.last = got.id
	got.extras = s.reached(int64(got.index) + 1)
	return got
}

// planPostings returns the postings of a message. It decides when each happens, when it is posted
// and which faults it has. It also sets the marks of the record.
func (s *Sandbox) planPostings(f *Faults, rec *record, l life) []posting {
	p := &s.opt.Statuses
	if p.Off || l.fate == FateSilent {
		return nil
	}
	about := []uint64{uint64(rec.conn), rec.to, uint64(rec.nth)}
	wait := func(d, def Delay, why purpose) time.Duration { return d.or(def).draw(s.hash(why, about...)) }
	at := time.Unix(0, rec.at)
	sent := at.Add(wait(p.Sent, Delay{Median: 300 * time.Millisecond, Sigma: 0.6}, drawSentDelay))
	delivered := sent.Add(wait(p.Delivered, Delay{Median: 900 * time.Millisecond, Sigma: 0.8}, drawDeliveredDelay))
	read := delivered.Add(wait(p.Read, Delay{Median: 2 * time.Second, Sigma: 1}, drawReadDelay))

	var postings []posting
	add := func(which slot, at time.Time, code int) {
		postings = append(postings, posting{slot: which, at: at, post: at, code: code})
	}
	switch l.fate {
	case FateFailed:
		failed := at.Add(wait(l.after, Delay{Median: time.Second, Sigma: 0.5}, drawFailedDelay))
		if !l.noSent {
			add(slotSent, sent, 0)
			failed = failed.Add(sent.Sub(at))
		}
		add(slotFailed, failed, cmp.Or(l.code, 131026))
	case FateUndelivered:
		add(slotSent, sent, 0)
	case FateUnread:
		add(slotSent, sent, 0)
		add(slotDelivered, delivered, 0)
	case FateRead, FateStop:
		add(slotSent, sent, 0)
		if !s.fires(f, faultReadOnly, about...) { // the platform leaves out delivered if read comes at the same moment
			add(slotDelivered, delivered, 0)
		}
		add(slotRead, read, 0)
	}
	i := slices.IndexFunc(postings, func(st posting) bool { return st.slot == slotDelivered })
	if i >= 0 && s.fires(f, faultFailedFirst, about...) {
		// A message may fail on one device of a person and be delivered to another device
		// (docs/service.md#statuses).
		at := sent.Add(delivered.Sub(sent) / 2)
		postings = slices.Insert(postings, i, posting{slot: slotFailed, at: at, post: at, code: 131000})
	}
	if f.webhooks() {
		postings = s.disturb(f, postings, about)
	}
	for _, st := range postings {
		if st.slot < statusSlots && st.flags&flagCopy == 0 {
			rec.marks[st.slot] = mark{at: st.at.UnixNano(), code: int32(st.code), missing: st.missing}
		}
	}
	if l.fate == FateStop {
		when := delivered.Add(wait(p.StopAfter, Delay{Median: 3 * time.Second, Sigma: 0.5}, drawStopDelay))
		postings = append(postings, posting{slot: slotStop, at: when, post: when})
	}
	return postings
}

// disturb applies the faults of webhooks to the statuses of one message.
func (s *Sandbox) disturb(f *Faults, postings []posting, about []uint64) []posting {
	jitter := func(why purpose, i int) time.Duration { // about 1 ms to 1 s, in whole nanoseconds, so that two draws are seldom equal
		return time.Millisecond + time.Duration(draw.Unit(s.hash(why, append(about[:len(about):len(about)], uint64(i))...))*float64(time.Second))
	}
	n := len(postings)
	if n > 1 && s.fires(f, faultReordered, about...) {
		post := postings[n-1].post
		for i := n - 2; i >= 0; i-- {
			post = post.Add(jitter(drawStatus, i))
			postings[i].post = post
		}
	}
	if n > 1 && postings[n-1].slot == slotRead && postings[n-2].slot == slotDelivered && s.fires(f, faultReadFirst, about...) {
		postings[n-2].post = postings[n-1].post.Add(jitter(drawStatus, n))
	}
	for i := range n {
		st := &postings[i]
		each := append(about[:len(about):len(about)], uint64(st.slot))
		if s.fires(f, faultMissing, each...) {
			st.missing = true
			continue
		}
		if s.fires(f, faultLate, each...) {
			st.post = st.post.Add(f.LateBy.or(Delay{Median: 5 * time.Minute, Sigma: 1}).draw(s.hash(drawLate, each...)))
		}
		if s.fires(f, faultFuture, each...) {
			st.at = st.at.Add(24 * time.Hour)
		}
		if s.fires(f, faultWrongRecipient, each...) {
			st.flags |= flagWrongRecipient
		}
		if s.fires(f, faultForged, each...) {
			st.flags |= flagForged
		}
		twin := *st // a copy, because append may move the slice
		if s.fires(f, faultDoubled, each...) {
			twin := twin
			twin.flags = twin.flags&^flagForged | flagCopy
			twin.post = twin.post.Add(jitter(drawDouble, i))
			postings = append(postings, twin)
		}
		if s.fires(f, faultOrphan, each...) {
			postings = append(postings, posting{slot: slotOrphan, at: twin.at, post: twin.post.Add(jitter(drawEvent, i)), flags: flagCopy})
		}
	}
	return postings
}

// schedule pushes the postings to the shards. It leaves out the missing ones and, if early, the
// first status, which postEarly posts.
func (s *Sandbox) schedule(got accepted, early bool) {
	first := -1
	if early {
		first = firstStatus(got.postings)
	}
	for i, st := range got.postings {
		if i == first || st.missing {
			continue
		}
		s.push(st, got.index, nil)
	}
}

// firstStatus is the index of the status that is posted first, or -1.
func firstStatus(postings []posting) int {
	first := -1
	for i, st := range postings {
		if st.slot < statusSlots && !st.missing && (first < 0 || st.post.Before(postings[first].post)) {
			first = i
		}
	}
	return first
}
