package shop

import (
	"encoding/json"
	"sync/atomic"

	"campaignd/internal/sandbox/shop/value"
)

// event is a change that the company's webhooks hear of (docs/commerce.md#events).
type event struct {
	id         string
	kind       string
	at         value.Stamp
	deliveries []*delivery
	body       []byte // until each delivery has ended
	open       atomic.Int32
}

func (e *event) Key() string { return e.id }

// eventBody is what is posted. Data is the record as a route shows it.
type eventBody struct {
	ID        string      `json:"id"`
	Type      string      `json:"type"`
	CreatedAt value.Stamp `json:"created_at"`
	CompanyID string      `json:"company_id"`
	Data      any         `json:"data"`
}

// emit makes an event and queues it for each webhook that wants it. The bytes are made once, so a
// repeated event has the same ones. The caller holds the lock.
func (p *Platform) emit(co *company, kind string, data any) {
	e := &event{id: p.newID(), kind: kind, at: p.now()}
	for _, h := range co.hooks {
		if h.wants(kind) {
			e.deliveries = append(e.deliveries, &delivery{event: e, hook: h, due: e.at.Time})
		}
	}
	if err := co.events.Add(&p.room, e); err != nil {
		p.opt.Log.Warn("commerce: no more records, so an event is lost", "type", kind)
		return
	}
	if len(e.deliveries) == 0 {
		return
	}
	var err error
	if e.body, err = json.Marshal(eventBody{e.id, kind, e.at, co.ID, data}); err != nil {
		p.opt.Log.Error("commerce: an event cannot be encoded", "type", kind, "err", err)
		return
	}
	e.open.Store(int32(len(e.deliveries)))
	for _, d := range e.deliveries {
		d.hook.push(d)
	}
}

// emitStock makes an event for each variant whose stock changed.
func (p *Platform) emitStock(co *company, changed []taken) {
	seen := map[*variant]bool{}
	for _, t := range changed {
		if !seen[t.variant] {
			seen[t.variant] = true
			p.emit(co, "stock.updated", t.variant.view(true, true))
		}
	}
}
