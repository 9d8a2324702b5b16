package shop

import (
	"bytes"
	"container/heap"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"campaignd/internal/sandbox/shop/scenario"
)

// hook is a webhook of a company with the deliveries that wait for it.
type hook struct {
	scenario.Webhook
	wake chan struct{} // has room for one

	mu      sync.Mutex // guards all below, and the deliveries
	waiting queue
	serial  int
}

// delivery is an event on its way to a webhook.
type delivery struct {
	event  *event
	hook   *hook
	due    time.Time
	serial int // the order of deliveries that are due at the same time
	posts  int
	acked  time.Time // zero: not yet
}

// queue is a heap by due.
type queue []*delivery

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*delivery)) }
func (q queue) Less(i, j int) bool {
	if c := q[i].due.Compare(q[j].due); c != 0 {
		return c < 0
	}
	return q[i].serial < q[j].serial
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	d := (*q)[last]
	*q = slices.Delete(*q, last, last+1)
	return d
}

func newHook(w scenario.Webhook) *hook { return &hook{Webhook: w, wake: make(chan struct{}, 1)} }

// wants reports whether the webhook gets events of a type: without a list it gets all.
func (h *hook) wants(kind string) bool { return len(h.Events) == 0 || slices.Contains(h.Events, kind) }

func (h *hook) push(d *delivery) {
	h.mu.Lock()
	d.serial = h.serial
	h.serial++
	heap.Push(&h.waiting, d)
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default: // it wakes already
	}
}

// next returns the delivery that is due, or how long to wait. Without deliveries it is an hour;
// push ends the wait.
func (h *hook) next(now time.Time) (*delivery, time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) == 0 {
		return nil, time.Hour
	}
	if wait := h.waiting[0].due.Sub(now); wait > 0 {
		return nil, wait
	}
	d := heap.Pop(&h.waiting).(*delivery)
	d.posts++
	return d, 0
}

// Run posts the events to the webhooks until the context ends. It returns when nothing of it is
// left. An event that is not answered 2xx is posted again after the waits of RetrySchedule, each
// counted from the answer.
func (p *Platform) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, co := range p.companies {
		for _, h := range co.hooks {
			all.Go(func() { p.deliver(ctx, h) })
		}
	}
	all.Wait()
	return ctx.Err()
}

func (p *Platform) deliver(ctx context.Context, h *hook) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		d, wait := h.next(time.Now())
		if d == nil {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
			case <-timer.C:
			case <-h.wake:
			}
			continue
		}
		ok := p.post(ctx, h, d.event.body)
		now := time.Now()
		switch {
		case ok:
			h.mu.Lock()
			d.acked = now
			h.mu.Unlock()
			d.end()
		case ctx.Err() != nil: // Run ends, so this is no failure of the endpoint
		case d.posts > len(p.opt.RetrySchedule):
			p.opt.Log.Warn("commerce: an event was not taken", "type", d.event.kind, "event", d.event.id, "posts", d.posts)
			d.end()
		default:
			d.due = now.Add(p.opt.RetrySchedule[d.posts-1])
			h.push(d)
		}
	}
}

// end lets the bytes of an event go with its last delivery.
func (d *delivery) end() {
	if d.event.open.Add(-1) == 0 {
		d.event.body = nil
	}
}

// post posts one signed body and reports whether it was answered 2xx. No redirects are followed.
func (p *Platform) post(ctx context.Context, h *hook, body []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, p.opt.WebhookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "commerce-webhooks/1.0")
	req.Header.Set("X-Commerce-Signature", signature(h.Secret, body))
	res, err := p.opt.Transport.RoundTrip(req)
	if err != nil {
		return false
	}
	// The body has no meaning. It is read so that the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	_ = res.Body.Close()
	return res.StatusCode >= 200 && res.StatusCode <= 299
}

// signature is the hex HMAC-SHA256 of a text.
func signature(secret string, text []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write(text) // a hash returns no error
	return hex.EncodeToString(mac.Sum(nil))
}
