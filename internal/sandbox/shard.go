package sandbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
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
	order    uint64 // order in the shard among equal instants
	index    uint32 // index of the record or the extra
	endpoint uint16 // index of Sandbox.endpoints
	slot     slot
	attempt  uint8 // number of retries so far
	flags    flags
}

func (a item) before(b item) bool {
	return a.post < b.post || a.post == b.post && a.order < b.order
}

// shares reports whether a may be in the same delivery as b, the first of it.
func (a item) shares(b item) bool {
	return a.endpoint == b.endpoint && a.slot != slotStop && a.flags&flagForged == b.flags&flagForged
}

// shard posts the events of some messages, one delivery at a time, so that the statuses of a
// message keep their order.
type shard struct {
	mu    sync.Mutex
	heap  []item // the item that is due first is on top
	order uint64
	wake  chan struct{}

	ready []item // items that wait for a batch to fill; only the goroutine of the shard uses it
	buf   []byte // a body; only the goroutine of the shard uses it
}

func newShard() *shard { return &shard{wake: make(chan struct{}, 1)} }

func (sh *shard) push(it item) {
	sh.mu.Lock()
	sh.order++
	it.order = sh.order
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

// take returns the items to post now, or how long to wait for some. A negative wait means until
// wake.
func (sh *shard) take(now int64, batch int, linger time.Duration) (due []item, wait time.Duration) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	full := false
	for len(sh.heap) > 0 && sh.heap[0].post <= now && !full {
		if len(sh.ready) > 0 && !sh.heap[0].shares(sh.ready[0]) {
			full = true // the next item cannot be in the same delivery
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

// push schedules a step for every endpoint that wants it. It returns the number of endpoints.
func (s *Sandbox) push(st step, index uint32) (n int) {
	it := item{post: st.post.UnixNano(), index: index, slot: st.slot, flags: st.flags}
	if st.slot == slotStop {
		s.pending.Add(1)
		s.shardOf(index).push(it)
		return 1
	}
	typ, company := s.about(it)
	for i, ep := range *s.endpoints.Load() {
		if ep.wants(typ, company) {
			it.endpoint = uint16(i)
			s.pending.Add(1)
			s.shardOf(index).push(it)
			n++
		}
	}
	return n
}

// work is the goroutine of a shard.
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
		sh.push(it)
	}
	sh.ready = sh.ready[:0]
}

// postEarly posts the first status before the POST is answered. It reports whether an endpoint
// wanted it.
func (s *Sandbox) postEarly(r *http.Request, got accepted) bool {
	i := firstStatus(got.steps)
	if i < 0 {
		return false
	}
	st := got.steps[i]
	now := time.Now()
	if st.at.After(now) { // the status happens now, earlier than planned
		st.at = now
		s.records.with(got.index, func(rec *record) { rec.marks[st.slot].at = now.UnixNano() })
	}
	it := item{post: now.UnixNano(), index: got.index, slot: st.slot, flags: st.flags}
	typ, company := s.about(it)
	posted := false
	var buf []byte
	for i, ep := range *s.endpoints.Load() {
		if ep.wants(typ, company) {
			it.endpoint = uint16(i)
			s.pending.Add(1)
			// The webhook is posted even if the client leaves.
			s.deliver(context.WithoutCancel(r.Context()), s.shardOf(got.index), &buf, []item{it})
			posted = true
		}
	}
	return posted
}

// deliver posts one delivery with items of one endpoint. A delivery that is not answered 2xx is
// repeated by the schedule; each wait begins with the answer (docs/service.md#delivery-of-events).
func (s *Sandbox) deliver(ctx context.Context, sh *shard, buf *[]byte, items []item) {
	if items[0].slot == slotStop {
		s.stop(items[0].index)
		s.done(1)
		return
	}
	ep := (*s.endpoints.Load())[items[0].endpoint]
	if ep.removed {
		s.done(len(items))
		return
	}
	*buf = s.appendDelivery((*buf)[:0], items)
	for _, it := range items {
		s.posted(it)
	}
	forged := items[0].flags&flagForged != 0
	status, err := s.postWebhook(ctx, ep, *buf, forged)
	now := time.Now()
	ok := err == nil && status >= 200 && status <= 299
	if s.opt.OnEvent != nil {
		for _, it := range items {
			s.opt.OnEvent(s.webhookEvent(it, now, status, err))
		}
	}
	switch {
	case ok && forged:
		s.forgedOK.Add(int64(len(items)))
	case ok:
		for _, it := range items {
			s.acked(it, now.UnixNano())
		}
	}
	if ok {
		s.done(len(items))
		return
	}
	if ctx.Err() != nil { // Run ends, so this is no failure of the endpoint
		for _, it := range items {
			sh.push(it)
		}
		return
	}
	for _, it := range items {
		if int(it.attempt) >= len(s.opt.RetrySchedule) {
			s.fired[faultAbandoned].Add(1)
			s.done(1)
			continue
		}
		it.post = now.Add(s.opt.RetrySchedule[it.attempt]).UnixNano()
		it.attempt++
		it.flags &^= flagForged
		sh.push(it)
	}
}

// postWebhook sends one signed body and returns the status of the answer.
func (s *Sandbox) postWebhook(ctx context.Context, ep *endpoint, body []byte, forged bool) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.WebhookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, ep.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	secret := ep.secret
	if forged {
		secret += "-forged"
	}
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["User-Agent"] = []string{"service-webhooks/1.1"}
	s.opt.Events.sign(req.Header, secret, body, time.Now())
	res, err := s.opt.Transport.RoundTrip(req) // no redirects are followed
	if err != nil {
		return 0, err
	}
	// The body has no meaning. It is read so that the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	_ = res.Body.Close()
	return res.StatusCode, nil
}

// Sign returns the signature of a webhook body in the default form: lower-case hex HMAC-SHA256
// (docs/service.md#signature).
func Sign(secret string, body []byte) string { return hex.EncodeToString(digest(secret, "", body)) }

func digest(secret, before string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, before) // a hash returns no error
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}

// signature is the header of the signature (docs/service.md#signature).
const signature = "X-Service-Signature"

// sign sets the signature headers of one posting in the configured form.
func (f *EventForm) sign(h http.Header, secret string, body []byte, now time.Time) {
	stamp, before := "", ""
	if f.SignatureTimestamp != "" {
		stamp = strconv.FormatInt(now.Unix(), 10)
		before = stamp + "."
	}
	sum := digest(secret, before, body)
	text := f.SignaturePrefix + hex.EncodeToString(sum)
	if f.SignatureEncoding == "base64" {
		text = f.SignaturePrefix + base64.StdEncoding.EncodeToString(sum)
	}
	switch http.CanonicalHeaderKey(f.SignatureTimestamp) {
	case "":
	case signature:
		text = "t=" + stamp + "," + text
	default:
		h.Set(f.SignatureTimestamp, stamp)
	}
	h[signature] = []string{text}
}

// posted counts a posting, for Truth.
func (s *Sandbox) posted(it item) {
	switch {
	case it.slot < statusSlots:
		s.records.with(it.index, func(rec *record) { rec.marks[it.slot].posts++ })
	case it.slot == slotExtra:
		s.mu.Lock()
		s.extras[it.index].posts++
		s.mu.Unlock()
	}
}

// acked keeps the time of the first 2xx, for Truth.
func (s *Sandbox) acked(it item, now int64) {
	switch {
	case it.slot < statusSlots:
		s.records.with(it.index, func(rec *record) {
			if m := &rec.marks[it.slot]; m.acked == 0 {
				m.acked = now
			}
		})
	case it.slot == slotExtra:
		s.mu.Lock()
		if x := s.extras[it.index]; x.acked == 0 {
			x.acked = now
		}
		s.mu.Unlock()
	}
}

func (s *Sandbox) webhookEvent(it item, now time.Time, status int, err error) Event {
	e := Event{At: now, Kind: "webhook", Detail: it.slot.String() + " " + strconv.Itoa(status)}
	if err != nil {
		e.Detail = it.slot.String() + " " + err.Error()
	}
	if it.slot == slotExtra {
		s.mu.Lock()
		e.Detail = s.extras[it.index].typ + e.Detail[len("extra"):]
		s.mu.Unlock()
		return e
	}
	s.records.with(it.index, func(rec *record) {
		e.Connection, e.To = s.connections[rec.conn].ID, formatPhone(rec.to)
		e.MessageID = wamid(s.boot, rec.to, 0x11, uint64(it.index))
	})
	return e
}
