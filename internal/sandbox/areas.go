package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"campaignd/internal/operations"
	"campaignd/internal/sandbox/area"
	"campaignd/internal/sandbox/draw"
)

// openAreas makes the areas from the accounts of the scenario.
func (s *Sandbox) openAreas() (err error) {
	w := area.World{
		Began: s.began, Templates: s.opt.Templates, Assets: s.opt.Assets, Flows: s.opt.Flows, Review: s.opt.Review, Storage: s.opt.Storage,
		History: s.opt.History.Days, Token: s.token, Post: s.postEvent, Statuses: s.eachStatus, Usage: s.usage,
		Send: s.sendFor, Replay: s.replay, Draw: func(keys ...uint64) uint64 { return s.hash(drawHistory, keys...) },
		Wrote: func(c *area.Connection, number uint64, now time.Time) bool {
			return s.windowOpen(s.connection[c.ID], number, now)
		},
		Pace:      func(c *area.Connection) int { return s.connection[c.ID].limit },
		ReadPhone: func(text string) uint64 { n, _ := parsePhone(text); return n },
	}
	for _, c := range s.companies {
		w.Companies = append(w.Companies, &c.Company)
	}
	for _, c := range s.connections {
		w.Connections = append(w.Connections, &c.Connection)
	}
	s.areas, err = area.New(w)
	return err
}

// token returns 64 hexadecimal digits.
func (s *Sandbox) token(n uint64) string {
	text := ""
	for part := range uint64(4) {
		text += fmt.Sprintf("%016x", draw.Mix(s.boot, n, 0x736563, part))
	}
	return text
}

// postEvent stores an event of an area. The caller holds s.mu, and pushes takeFresh after it.
func (s *Sandbox) postEvent(e area.Event) {
	x := &extra{typ: e.Type, company: e.Company, at: time.Now(), data: e.Data, field: e.Field, value: e.Value}
	if e.Connection != nil {
		x.conn = s.connection[e.Connection.ID]
	}
	s.fresh = append(s.fresh, s.addExtra(x))
}

// takeFresh returns the numbers of the events that the areas posted since the last call. The caller
// holds s.mu, and pushes them after it.
func (s *Sandbox) takeFresh() (extras []int) {
	extras, s.fresh = s.fresh, nil
	return extras
}

// usage returns how many messages of this month the plan of a company counts, and its limit; 0
// means none. "" is the plan of the account. A plan that allows nothing is shown as 1 of 1.
func (s *Sandbox) usage(company string) (used, limit int64) {
	p := s.plan
	if c := s.company[company]; c != nil {
		p = c.plan
	}
	p.left(time.Now()) // sets used to 0 if a new month has started
	if p.limit < 0 {
		return 1, 1
	}
	return p.used, p.limit
}

// eachStatus calls yield with every status that has happened.
func (s *Sandbox) eachStatus(yield func(area.Status)) {
	now := time.Now().UnixNano()
	for i := range s.records.len() {
		s.records.with(i, func(rec *record) {
			conn := s.connections[rec.conn]
			for which := range statusSlots {
				if at := rec.marks[which].at; at != 0 && at <= now {
					yield(area.Status{Name: which.String(), At: time.Unix(0, at), Template: rec.tpl, To: rec.to,
						Connection: &conn.Connection, Company: conn.Company})
				}
			}
		})
	}
}

// sendFor sends one message of a campaign of the service, by the rules and the counters of POST
// /messages. The caller holds s.mu. Faults before and after the acceptance do not apply: no client
// waits for an answer.
func (s *Sandbox) sendFor(c *area.Connection, body []byte) area.Outcome {
	m, ref := decode(body)
	if ref != nil {
		return area.Outcome{Refusal: ref}
	}
	now, conn := time.Now(), s.connection[c.ID]
	p := &post{m: m, conn: conn}
	p.to, _ = parsePhone(m.To)
	s.count(p, now)
	if ref = m.Shape(); ref == nil {
		_, ref = s.rules(s.faults.Load(), p, now)
	}
	if ref != nil {
		s.refused[ref.Code]++
		return area.Outcome{Refusal: ref}
	}
	got := s.accept(s.faults.Load(), p, now, "")
	s.fresh = append(s.fresh, got.extras...)
	s.schedule(got, false)
	out := area.Outcome{MessageID: got.id}
	s.records.with(got.index, func(rec *record) {
		for which := range statusSlots {
			if m := rec.marks[which]; m.at != 0 {
				out.Later = append(out.Later, area.Later{Name: which.String(), At: time.Unix(0, m.at), Code: int(m.code)})
			}
		}
	})
	return out
}

// runPlans does what the areas have planned, until ctx ends.
func (s *Sandbox) runPlans(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		_ = s.change(func(now time.Time) ([]int, error) { // it returns no error
			s.areas.Due(now)
			wait := time.Hour
			if at, ok := s.areas.Next(); ok {
				wait = time.Until(at)
			}
			timer.Reset(wait)
			return nil, nil
		})
		select {
		case <-ctx.Done():
		case <-s.areas.Wake():
		case <-timer.C:
		}
	}
}

// inArea returns the handler of an operation of an area: it reads the request, checks connection
// and suspension, and calls h while it holds s.mu.
func (s *Sandbox) inArea(o operations.Operation, h area.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request, key *Key, id string) {
		c := &area.Call{Key: key, ID: id, Query: r.URL.Query()}
		about, ref := readCall(w, r, o, c)
		if ref != nil {
			refuse(w, ref)
			return
		}
		var data any
		_ = s.change(func(now time.Time) ([]int, error) { // a refusal is no error of the change
			c.Now = now
			s.areas.Due(now)
			if ref = s.reach(o, key, about, c); ref == nil {
				data, ref = h(c)
			}
			return nil, nil
		})
		if later, ok := data.(area.Unlocked); ok {
			data = later()
		}
		switch rows, isList := data.(area.List); {
		case ref != nil:
			refuse(w, ref)
		case isList:
			writeRows(s, w, r, rows)
		case data == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			writeJSON(w, http.StatusOK, single[any]{Data: data})
		}
	}
}

// readCall reads the body of a request and returns its connectionId, if the operation has one.
func readCall(w http.ResponseWriter, r *http.Request, o operations.Operation, c *area.Call) (about string, ref *refusal) {
	named := o.Scope == operations.Connection || strings.HasPrefix(o.Request, "C")
	inQuery := o.Method == http.MethodGet || o.Method == http.MethodDelete
	switch {
	case o.Name == "media":
		if c.Upload, ref = area.ReadUpload(r); ref != nil {
			return "", ref
		}
		return c.Upload.ConnectionID, nil
	case inQuery && named:
		return c.Query.Get("connectionId"), nil
	case inQuery, r.ContentLength == 0 && o.Request == "":
		return "", nil
	}
	if c.Body, ref = body(w, r); ref != nil {
		return "", ref
	}
	if !json.Valid(c.Body) {
		return "", area.RefuseRequest("The body is not JSON.")
	}
	if o.Request == "" {
		return "", area.NoFields(c.Body)
	}
	var in struct {
		ConnectionID any `json:"connectionId"`
	}
	_ = json.Unmarshal(c.Body, &in) // a body that is no object is refused by the handler
	switch id := in.ConnectionID.(type) {
	case nil:
		return "", nil
	case string:
		if !named {
			return "", area.RefuseRequest(`body has an unknown field "connectionId".`)
		}
		return id, nil
	}
	return "", area.RefuseRequest("body.connectionId is not a string.")
}

// reach finds the connection of a request. The caller holds s.mu.
func (s *Sandbox) reach(o operations.Operation, key *Key, about string, c *area.Call) *refusal {
	if about == "" {
		if o.Scope == operations.Connection {
			return &refusal{Status: 400, Code: "missing_fields", Prose: "connectionId is required."}
		}
		return nil
	}
	conn := s.scoped(key, about)
	switch {
	case conn == nil:
		return &area.RefuseConnection
	case o.Writes() && conn.company.Suspended:
		return &area.RefuseSuspended
	}
	c.Connection = &conn.Connection
	return nil
}
