package area

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync/atomic"
)

// maxEndpoints is the number of webhook endpoints of an account or of a client.
const maxEndpoints = 100

// webhookTypes are the event types that an endpoint can ask for (docs/service.md#assumptions).
var webhookTypes = []string{
	"message.status", "message.received", "template.status", "number.updated", "account.updated", "platform.webhook",
}

// Endpoint is a registered webhook endpoint. Those who post events read it without the sandbox's
// lock, also after it was removed.
type Endpoint struct {
	ID     string
	Number uint32 // as in ID; no other endpoint ever has it
	Secret string
	// Company is empty for an endpoint that was registered with a partner-wide key: it gets the events
	// of all companies.
	Company string

	setting atomic.Pointer[setting] // a change replaces it
}

// setting is what a request can change.
type setting struct {
	url      string
	events   []string // empty: all
	inactive bool     // nothing is posted to it
	removed  bool
}

// Wants reports whether the endpoint gets the events of a type about a company.
func (e *Endpoint) Wants(typ, company string) bool {
	now := e.setting.Load()
	return !now.removed && !now.inactive && (e.Company == "" || e.Company == company || company == "") &&
		(len(now.events) == 0 || slices.Contains(now.events, typ))
}

// Address is where the events are posted. ok is false if the endpoint is not active.
func (e *Endpoint) Address() (address string, ok bool) {
	now := e.setting.Load()
	return now.url, !now.inactive
}

// change replaces the setting by a changed copy.
func (e *Endpoint) change(edit func(*setting)) {
	next := *e.setting.Load()
	edit(&next)
	e.setting.Store(&next)
}

// Endpoints are those that are registered, in their order. It needs no lock.
func (a *Areas) Endpoints() []*Endpoint { return *a.endpoints.Load() }

// Endpoint returns the endpoint with a number, or nil if it was removed. It needs no lock.
func (a *Areas) Endpoint(number uint32) *Endpoint {
	all := a.Endpoints()
	i, found := slices.BinarySearchFunc(all, number, func(e *Endpoint, n uint32) int { return cmp.Compare(e.Number, n) })
	if !found {
		return nil
	}
	return all[i]
}

// Register adds an endpoint. If secret is empty, it makes one. Empty events mean all types, and an
// empty company means all companies.
func (a *Areas) Register(target, secret string, events []string, company string) (*Endpoint, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("sandbox: webhook url %q is not a URL", target)
	}
	e := &Endpoint{ID: a.serial("whk", func(string) bool { return false }), Secret: secret, Company: company}
	e.Number = uint32(a.serials["whk"])
	if secret == "" {
		e.Secret = a.Token(1<<32 | uint64(e.Number))
	}
	e.setting.Store(&setting{url: target, events: events})
	next := append(slices.Clone(a.Endpoints()), e)
	a.endpoints.Store(&next)
	return e, nil
}

// targetRefusal is the refusal of the address of an endpoint, or nil. Endpoints are HTTPS URLs
// (docs/service.md#delivery-of-events). A sandbox also posts to its own machine over HTTP.
func targetRefusal(target string) *Refusal {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
		return &Refusal{400, "invalid_url", "A webhook endpoint is an HTTPS URL.", nil}
	}
	return nil
}

// typesRefusal is the refusal of a list of event types, or nil.
func typesRefusal(events []string) *Refusal {
	for _, e := range events {
		if !slices.Contains(webhookTypes, e) {
			return &Refusal{400, "invalid_event", "Unknown event type " + e + ".", nil}
		}
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
