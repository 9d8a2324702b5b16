package area

import (
	"slices"
	"strconv"
	"time"
)

// Replay selects the events to post again (docs/service.md#delivery-of-events).
type Replay struct {
	// All replays also the events that were answered 2xx.
	All bool `json:"all"`
	// Types limits the replay to events of these types, such as template.status. Default: all.
	Types []string `json:"types"`
	// Since is the earliest time of an event; zero means the beginning.
	Since time.Time `json:"since"`
	// Until is the latest time of an event; zero, or a time in the future, means now.
	Until time.Time `json:"until"`
}

func (a *Areas) webhookHandlers() map[string]Handler {
	return map[string]Handler{
		"webhooks":           a.listWebhooks,
		"webhook":            shows(a.ownEndpoint, (*Endpoint).whole),
		"webhook_register":   take(a.registerWebhook),
		"webhook_update":     take(a.updateWebhook),
		"webhook_delete":     a.deleteWebhook,
		"webhook_deliveries": a.listDeliveries,
		"webhook_replay":     take(a.replayAll),
		"webhook_replay_one": take(a.replayOne),
	}
}

// endpointView is an endpoint as the service shows it. The list has no member active, and only the
// answer to the registration shows the secret.
type endpointView struct {
	ID     string   `json:"id"`
	URL    string   `json:"url"`
	Events []string `json:"events"`
	Active *bool    `json:"active,omitempty"`
}

func (e *Endpoint) view() endpointView {
	now := e.setting.Load()
	v := endpointView{ID: e.ID, URL: now.url, Events: now.events}
	if len(v.Events) == 0 {
		v.Events = webhookTypes
	}
	return v
}

func (e *Endpoint) whole() endpointView {
	v, active := e.view(), !e.setting.Load().inactive
	v.Active = &active
	return v
}

func (a *Areas) ownEndpoint(c *Call) (*Endpoint, *Refusal) {
	for _, e := range a.Endpoints() {
		if e.ID == c.ID && c.Key.Covers(e.Company) {
			return e, nil
		}
	}
	return nil, notFound("webhook endpoint")
}

// changeableEndpoint returns the endpoint of a request that changes it.
func (a *Areas) changeableEndpoint(c *Call) (*Endpoint, *Refusal) {
	e, ref := a.ownEndpoint(c)
	if ref == nil {
		ref = a.writable(e.Company)
	}
	return e, ref
}

func (a *Areas) listWebhooks(c *Call) (any, *Refusal) {
	rows := []endpointView{}
	for _, e := range a.Endpoints() {
		if c.Key.Covers(e.Company) {
			rows = append(rows, e.view())
		}
	}
	return list(rows), nil
}

func (a *Areas) registerWebhook(c *Call, in struct {
	URL    string   `json:"url"`
	Events []string `json:"events"`
}) (any, *Refusal) {
	if in.URL == "" {
		return nil, missing("url is required.")
	}
	ref := targetRefusal(in.URL)
	if ref == nil {
		ref = typesRefusal(in.Events)
	}
	if ref != nil {
		return nil, ref
	}
	count := 0
	for _, e := range a.Endpoints() {
		if e.Company == c.Key.Company {
			count++
		}
	}
	if count >= maxEndpoints {
		return nil, overLimit("There are 100 webhook endpoints, the most allowed.")
	}
	e, err := a.Register(in.URL, "", in.Events, c.Key.Company)
	if err != nil {
		return nil, RefuseRequest(err.Error())
	}
	return struct {
		ID     string `json:"id"`
		URL    string `json:"url"`
		Secret string `json:"secret"`
	}{e.ID, in.URL, e.Secret}, nil
}

func (a *Areas) updateWebhook(c *Call, in struct {
	URL    *string  `json:"url"`
	Events []string `json:"events"`
	Active *bool    `json:"active"`
}) (any, *Refusal) {
	e, ref := a.changeableEndpoint(c)
	if ref == nil && in.URL != nil {
		ref = targetRefusal(*in.URL)
	}
	if ref == nil {
		ref = typesRefusal(in.Events)
	}
	if ref != nil {
		return nil, ref
	}
	e.change(func(next *setting) {
		if in.URL != nil {
			next.url = *in.URL
		}
		if in.Events != nil {
			next.events = in.Events
		}
		if in.Active != nil {
			next.inactive = !*in.Active
		}
	})
	return e.whole(), nil
}

// deleteWebhook forgets an endpoint. Events that wait to be posted to it are dropped when they are
// due.
func (a *Areas) deleteWebhook(c *Call) (any, *Refusal) {
	e, ref := a.changeableEndpoint(c)
	if ref != nil {
		return nil, ref
	}
	e.change(func(next *setting) { next.removed = true })
	next := slices.DeleteFunc(slices.Clone(a.Endpoints()), func(other *Endpoint) bool { return other == e })
	a.endpoints.Store(&next)
	return nil, nil
}

func (a *Areas) listDeliveries(c *Call) (any, *Refusal) {
	e, ref := a.ownEndpoint(c)
	if ref != nil {
		return nil, ref
	}
	state := c.Query.Get("state")
	if !slices.Contains([]string{"", "pending", "delivered", "failed"}, state) {
		return nil, invalid("state is not pending, delivered or failed.")
	}
	type row struct {
		ID         string    `json:"id"`
		EventID    string    `json:"eventId"`
		Type       string    `json:"type"`
		State      string    `json:"state"`
		Attempts   int       `json:"attempts"`
		HTTPStatus int       `json:"httpStatus"`
		CreatedAt  time.Time `json:"createdAt"`
	}
	rows := []row{}
	for _, d := range a.Deliveries.of(e, state) {
		rows = append(rows, row{"dlv_" + strconv.Itoa(d.n), d.event, d.typ, d.state, d.attempts, d.status, d.createdAt.UTC()})
	}
	return list(rows), nil
}

// span is the time of a replay.
type span struct {
	Since string `json:"since"`
	Until string `json:"until"`
}

// replay reads the span of a request. Its end is not before its beginning.
func (in span) replay(types []string) (r Replay, _ *Refusal) {
	if in.Since == "" || in.Until == "" {
		return r, missing("since and until are required.")
	}
	since, err := time.Parse(time.RFC3339, in.Since)
	until, other := time.Parse(time.RFC3339, in.Until)
	switch {
	case err != nil || other != nil:
		return r, invalid("since and until are times of RFC 3339.")
	case until.Before(since):
		return r, invalid("until is before since.")
	}
	return Replay{All: true, Types: types, Since: since, Until: until}, typesRefusal(types)
}

// again answers a replay. It reads all messages, so it does this without the lock.
func (a *Areas) again(r Replay, key *Key, only *Endpoint) Unlocked {
	return func() any {
		return struct {
			Deliveries int `json:"deliveries"`
		}{a.Replay(r, key, only)}
	}
}

// replayAll posts all events of a time again to every endpoint, also those that were answered 2xx.
func (a *Areas) replayAll(c *Call, in span) (any, *Refusal) {
	r, ref := in.replay(nil)
	if ref != nil {
		return nil, ref
	}
	return a.again(r, c.Key, nil), nil
}

func (a *Areas) replayOne(c *Call, in struct {
	Since  string   `json:"since"`
	Until  string   `json:"until"`
	Events []string `json:"events"`
}) (any, *Refusal) {
	e, ref := a.changeableEndpoint(c)
	if ref != nil {
		return nil, ref
	}
	r, ref := span{in.Since, in.Until}.replay(in.Events)
	if ref != nil {
		return nil, ref
	}
	if _, active := e.Address(); !active {
		return nil, invalid("The endpoint is not active.")
	}
	return a.again(r, c.Key, e), nil
}
