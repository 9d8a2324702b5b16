package sandbox

import (
	"campaignd/internal/sandbox/area"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// endpoint is a registered webhook endpoint.
type endpoint struct {
	id, url, secret string
	events          []string // empty: all
	company         string   // empty: all, for an endpoint registered with a partner-wide key
	removed         bool
	inactive        bool // nothing is posted to it
}

// wants reports whether the endpoint gets the events of a type about a company.
func (e *endpoint) wants(typ, company string) bool {
	return !e.removed && !e.inactive && (e.company == "" || e.company == company || company == "") &&
		(len(e.events) == 0 || slices.Contains(e.events, typ))
}

// register adds an endpoint. If secret is empty, it makes one. Empty events mean all types, and an
// empty company means all companies.
func (s *Sandbox) register(target, secret string, events []string, company string) (*endpoint, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("sandbox: webhook url %q is not a URL", target)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial["webhook"]++
	n := s.serial["webhook"]
	if secret == "" {
		secret = s.token(1<<32 | uint64(n))
	}
	ep := &endpoint{id: "whk_" + strconv.Itoa(n), url: target, secret: secret, events: events, company: company}
	next := append(slices.Clone(*s.endpoints.Load()), ep)
	s.endpoints.Store(&next)
	return ep, nil
}

// registered is the answer to a registration. No other answer shows the secret.
type registered struct {
	ID     string `json:"id"`
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// webhookTypes are the event types that an endpoint can ask for (docs/service.md#assumptions).
var webhookTypes = []string{
	"message.status", "message.received", "template.status", "number.updated", "account.updated", "platform.webhook",
}

// registerWebhook is POST /api/v1/webhooks {url, events?}.
func (s *Sandbox) registerWebhook(w http.ResponseWriter, r *http.Request, key *Key) {
	raw, ref := body(w, r)
	if ref != nil {
		refuse(w, ref)
		return
	}
	var in struct {
		url    string
		events []string
	}
	if err := decodeObject(raw, "body", field{"url", &in.url}, field{"events", &in.events}); err != nil {
		refuse(w, area.RefuseRequest(err.Error()+"."))
		return
	}
	if in.url == "" {
		refuse(w, area.Refuse(400, "missing_fields", "url is required."))
		return
	}
	if ref := hookRefusal(in.url, in.events); ref != nil {
		refuse(w, ref)
		return
	}
	count := 0
	for _, ep := range *s.endpoints.Load() {
		if !ep.removed && ep.company == key.Company {
			count++
		}
	}
	if count >= maxEndpoints {
		refuse(w, area.Refuse(409, "limit_reached", "There are 100 webhook endpoints, the most allowed."))
		return
	}
	ep, err := s.register(in.url, "", in.events, key.Company)
	if err != nil {
		refuse(w, area.RefuseRequest(err.Error()))
		return
	}
	writeJSON(w, http.StatusOK, single[registered]{Data: registered{ep.id, ep.url, ep.secret}})
}

// hookRefusal is the refusal of the address or of the events of an endpoint, or nil. An empty
// target is not checked. Endpoints are HTTPS URLs (docs/service.md#delivery-of-events). A sandbox
// also posts to its own machine over HTTP.
func hookRefusal(target string, events []string) *refusal {
	u, err := url.Parse(target)
	if target != "" && (err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname()))) {
		return area.Refuse(400, "invalid_url", "A webhook endpoint is an HTTPS URL.")
	}
	for _, e := range events {
		if !slices.Contains(webhookTypes, e) {
			return area.Refuse(400, "invalid_event", "Unknown event type "+e+".")
		}
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// listWebhooks is GET /api/v1/webhooks. It does not show the secrets.
func (s *Sandbox) listWebhooks(w http.ResponseWriter, r *http.Request, key *Key) {
	out := list[hookView]{Data: []hookView{}}
	for _, ep := range *s.endpoints.Load() {
		if !ep.removed && covers(key, ep.company) {
			out.Data = append(out.Data, ep.view())
		}
	}
	writePage(s, w, r, out)
}

// deleteWebhook is DELETE /api/v1/webhooks/{id}.
func (s *Sandbox) deleteWebhook(w http.ResponseWriter, _ *http.Request, key *Key, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.ownEndpoint(w, key, id)
	if i < 0 || !s.mayWrite(w, (*s.endpoints.Load())[i]) {
		return
	}
	gone := *(*s.endpoints.Load())[i]
	gone.removed = true
	s.replaceEndpoint(i, &gone)
	w.WriteHeader(http.StatusNoContent)
}
