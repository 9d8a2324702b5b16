package sandbox

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"campaignd/internal/sandbox/area"
)

// postEarly posts the first status before the POST is answered. It returns false if there is no
// status or if no endpoint wants it.
func (s *Sandbox) postEarly(r *http.Request, got accepted) bool {
	i := firstStatus(got.postings)
	if i < 0 {
		return false
	}
	st := got.postings[i]
	now := time.Now()
	if st.at.After(now) { // the status happens now, earlier than planned
		st.at = now
		s.records.with(got.index, func(rec *record) { rec.marks[st.slot].at = now.UnixNano() })
	}
	it := item{post: now.UnixNano(), index: got.index, slot: st.slot, flags: st.flags}
	typ, company := s.about(it)
	posted := false
	var buf []byte
	for _, ep := range s.areas.Endpoints() {
		if ep.Wants(typ, company) {
			it.endpoint = ep.Number
			s.pending.Add(1)
			// The webhook is posted even if the client leaves.
			s.deliver(context.WithoutCancel(r.Context()), s.shardOf(got.index), &buf, []item{it})
			posted = true
		}
	}
	return posted
}

// deliver posts items in one request to their common endpoint. If the answer is not 2xx, the items
// are posted again after the waits of Options.RetrySchedule; each wait starts at the answer
// (docs/service.md#delivery-of-events).
func (s *Sandbox) deliver(ctx context.Context, sh *shard, buf *[]byte, items []item) {
	if items[0].slot == slotStop {
		s.stop(items[0].index)
		s.done(1)
		return
	}
	ep, address, ok := s.areas.Endpoint(items[0].endpoint), "", false
	if ep != nil {
		address, ok = ep.Address()
	}
	if !ok { // it was removed, or is not active
		for _, it := range items {
			sh.takeLog(it)
		}
		s.done(len(items))
		return
	}
	*buf = s.appendDelivery((*buf)[:0], items)
	logs := make([]*area.Delivery, len(items))
	for i, it := range items {
		s.posted(it)
		typ, _ := s.about(it)
		event := ""
		if logs[i] = sh.takeLog(it); logs[i] == nil {
			event = s.eventID(it)
		}
		logs[i] = s.areas.Deliveries.Begin(logs[i], ep, event, typ, time.Now())
	}
	forged := items[0].flags&flagForged != 0
	status, err := s.postWebhook(ctx, address, ep.Secret, *buf, forged)
	now := time.Now()
	ok = err == nil && status >= 200 && status <= 299
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
	for i, it := range items {
		state := "pending"
		switch {
		case ok:
			state = "delivered"
		case ctx.Err() == nil && int(it.attempt) >= len(s.opt.RetrySchedule):
			state = "failed"
		}
		s.areas.Deliveries.End(logs[i], state, status)
	}
	if ok {
		s.done(len(items))
		return
	}
	if ctx.Err() != nil { // Run ends, so this is no failure of the endpoint
		for i, it := range items {
			sh.push(it, logs[i])
		}
		return
	}
	for i, it := range items {
		if int(it.attempt) >= len(s.opt.RetrySchedule) {
			s.fired[faultAbandoned].Add(1)
			s.done(1)
			continue
		}
		it.post = now.Add(s.opt.RetrySchedule[it.attempt]).UnixNano()
		it.attempt++
		it.flags &^= flagForged
		sh.push(it, logs[i])
	}
}

// postWebhook sends one signed body and returns the status of the answer.
func (s *Sandbox) postWebhook(ctx context.Context, address, secret string, body []byte, forged bool) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.WebhookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
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

// posted counts the posting of a status, for Truth.
func (s *Sandbox) posted(it item) {
	if it.slot < statusSlots {
		s.records.with(it.index, func(rec *record) { rec.marks[it.slot].posts++ })
	}
}

// acked records the time of the first 2xx, for Truth.
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
