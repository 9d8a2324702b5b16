package sandbox

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"campaignd/internal/sandbox/area"
)

// maxEndpoints is the number of webhook endpoints of an account or of a client.
const maxEndpoints = 100

// hookView is an endpoint as the service shows it. The list has no member active.
type hookView struct {
	ID     string   `json:"id"`
	URL    string   `json:"url"`
	Events []string `json:"events"`
	Active *bool    `json:"active,omitempty"`
}

func (e *endpoint) view() hookView {
	v := hookView{ID: e.id, URL: e.url, Events: e.events}
	if len(v.Events) == 0 {
		v.Events = webhookTypes
	}
	return v
}

func (e *endpoint) whole() hookView {
	v, active := e.view(), !e.inactive
	v.Active = &active
	return v
}

// ownEndpoint finds an endpoint that the key covers. It returns -1 after it has refused the
// request.
func (s *Sandbox) ownEndpoint(w http.ResponseWriter, key *Key, id string) int {
	i := slices.IndexFunc(*s.endpoints.Load(), func(e *endpoint) bool { return e.id == id && !e.removed && covers(key, e.company) })
	if i < 0 {
		refuse(w, area.Refuse(404, "not_found", "No such webhook endpoint."))
	}
	return i
}

// mayWrite refuses a change of an endpoint whose client is suspended, and reports whether there is
// none. The caller holds s.mu.
func (s *Sandbox) mayWrite(w http.ResponseWriter, e *endpoint) bool {
	c := s.company[e.company]
	if c == nil || !c.Suspended {
		return true
	}
	refuse(w, &area.RefuseSuspended)
	return false
}

// replaceEndpoint stores a changed copy of an endpoint. The caller holds s.mu.
func (s *Sandbox) replaceEndpoint(i int, next *endpoint) {
	all := slices.Clone(*s.endpoints.Load())
	all[i] = next
	s.endpoints.Store(&all)
}

// showWebhook is GET /api/v1/webhooks/{id}.
func (s *Sandbox) showWebhook(w http.ResponseWriter, _ *http.Request, key *Key, id string) {
	if i := s.ownEndpoint(w, key, id); i >= 0 {
		writeJSON(w, http.StatusOK, single[hookView]{Data: (*s.endpoints.Load())[i].whole()})
	}
}

// updateWebhook is PATCH /api/v1/webhooks/{id} {url?, events?, active?}.
func (s *Sandbox) updateWebhook(w http.ResponseWriter, r *http.Request, key *Key, id string) {
	raw, ref := body(w, r)
	if ref != nil {
		refuse(w, ref)
		return
	}
	var in struct {
		url    *string
		events []string
		active *bool
	}
	if err := decodeObject(raw, "body", field{"url", &in.url}, field{"events", &in.events}, field{"active", &in.active}); err != nil {
		refuse(w, area.RefuseRequest(err.Error()+"."))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.ownEndpoint(w, key, id)
	if i < 0 || !s.mayWrite(w, (*s.endpoints.Load())[i]) {
		return
	}
	next := *(*s.endpoints.Load())[i]
	changed := ""
	if in.url != nil {
		next.url = *in.url
		if changed = *in.url; changed == "" {
			changed = "/"
		}
	}
	if in.events != nil {
		next.events = in.events
	}
	if in.active != nil {
		next.inactive = !*in.active
	}
	if ref := hookRefusal(changed, in.events); ref != nil {
		refuse(w, ref)
		return
	}
	s.replaceEndpoint(i, &next)
	writeJSON(w, http.StatusOK, single[hookView]{Data: next.whole()})
}

// listDeliveries is GET /api/v1/webhooks/{id}/deliveries.
func (s *Sandbox) listDeliveries(w http.ResponseWriter, r *http.Request, key *Key, id string) {
	i := s.ownEndpoint(w, key, id)
	if i < 0 {
		return
	}
	state := r.URL.Query().Get("state")
	if !slices.Contains([]string{"", "pending", "delivered", "failed"}, state) {
		refuse(w, area.Refuse(400, "invalid_field", "state is not pending, delivered or failed."))
		return
	}
	type entry struct {
		ID         string    `json:"id"`
		EventID    string    `json:"eventId"`
		Type       string    `json:"type"`
		State      string    `json:"state"`
		Attempts   int       `json:"attempts"`
		HTTPStatus int       `json:"httpStatus"`
		CreatedAt  time.Time `json:"createdAt"`
	}
	out := list[entry]{Data: []entry{}}
	for _, d := range s.deliveries.of(i, state) {
		out.Data = append(out.Data, entry{"dlv_" + strconv.Itoa(d.n), s.eventID(d.item), d.typ, d.state, d.attempts, d.status, d.createdAt.UTC()})
	}
	writePage(s, w, r, out)
}

// replayOne is POST /api/v1/webhooks/{id}/replay {since, until, events?}.
func (s *Sandbox) replayOne(w http.ResponseWriter, r *http.Request, key *Key, id string) {
	raw, ref := body(w, r)
	if ref != nil {
		refuse(w, ref)
		return
	}
	var in struct {
		since, until string
		events       []string
	}
	if err := decodeObject(raw, "body", field{"since", &in.since}, field{"until", &in.until}, field{"events", &in.events}); err != nil {
		refuse(w, area.RefuseRequest(err.Error()+"."))
		return
	}
	i := s.ownEndpoint(w, key, id)
	if i < 0 {
		return
	}
	s.mu.Lock()
	may := s.mayWrite(w, (*s.endpoints.Load())[i])
	s.mu.Unlock()
	if !may {
		return
	}
	if in.since == "" || in.until == "" {
		refuse(w, area.Refuse(400, "missing_fields", "since and until are required."))
		return
	}
	since, err := time.Parse(time.RFC3339, in.since)
	until, other := time.Parse(time.RFC3339, in.until)
	ep := (*s.endpoints.Load())[i]
	switch ref = hookRefusal("", in.events); {
	case err != nil || other != nil:
		ref = area.Refuse(400, "invalid_field", "since and until are times of RFC 3339.")
	case until.Before(since):
		ref = area.Refuse(400, "invalid_field", "until is before since.")
	case ep.inactive:
		ref = area.Refuse(400, "invalid_field", "The endpoint is not active.")
	}
	if ref != nil {
		refuse(w, ref)
		return
	}
	n := s.replay(Replay{All: true, Types: in.events, Since: since, Until: until}, key, i)
	writeJSON(w, http.StatusOK, single[replayed]{Data: replayed{n}})
}
