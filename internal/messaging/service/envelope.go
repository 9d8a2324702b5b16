package service

import (
	"errors"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// DecodeEvents reads a webhook body: an event of the service, an array of events, {events: [...]},
// or the platform's own envelope, alone or inside an event. Verify the signature first. The events
// have the order of the body. With an error no event is returned.
func DecodeEvents(body []byte) ([]messaging.Event, error) {
	return decode(body, nil, messaging.OptOut{})
}

// EventDecoder returns DecodeEvents with a memory for the types of events and the ids of
// connections, so that one that comes again and again is not allocated for each event. Goroutines
// may share it. stops finds the opt-outs in the history of a number.
func EventDecoder(stops messaging.OptOut) func(body []byte) ([]messaging.Event, error) {
	known := &names{seed: maphash.MakeSeed()}
	return func(body []byte) ([]messaging.Event, error) { return decode(body, known, stops) }
}

func decode(body []byte, known *names, stops messaging.OptOut) ([]messaging.Event, error) {
	if len(body) > messaging.MaxBody {
		return nil, messaging.ErrBodyTooLarge
	}
	v, err := rawjson.Parse(body)
	if err != nil {
		return nil, errors.Join(messaging.ErrBody, err)
	}
	if !v.IsObject() && !v.IsArray() {
		return nil, messaging.ErrBody
	}
	d := decoder{Batch: messaging.Batch{OptOut: stops}, names: known}
	if err := d.body(v); err != nil {
		return nil, err
	}
	return d.Events, nil
}

// decoder collects the events of one body.
type decoder struct {
	messaging.Batch
	names *names
}

// body reads one event, an array of them, or an object with a list of them.
func (d *decoder) body(v rawjson.Value) error {
	if !v.IsArray() {
		return d.one(v)
	}
	for m := v.Members(); m.Next(); {
		if err := d.one(m.Val); err != nil {
			return err
		}
		if len(d.Events) == 1 { // the others are about as long as the first
			d.Events = slices.Grow(d.Events, min(len(v)/len(m.Val), messaging.MaxEvents))
		}
	}
	return nil
}

// one reads one element of a body.
func (d *decoder) one(v rawjson.Value) error {
	if !v.IsObject() {
		return d.Add(messaging.Event{Type: "not an object"})
	}
	var env envelope
	env.read(v, d.names)
	if env.isBatch() {
		return d.body(env.list) // maxDepth limits the recursion
	}
	if p := messaging.FindPlatform(v); p != nil {
		return d.Platform(p, messaging.Event{Connection: env.connection, At: env.at})
	}
	return d.service(v, &env)
}

// envelope is what is read of the object of the service around an event: {id, type, createdAt,
// connectionId, data}. It is assumed (docs/service.md#events).
type envelope struct {
	kind, connection string
	at               time.Time
	data             rawjson.Value // nil if there is no object under data or payload
	list             rawjson.Value // the array of {events: [...]}, else nil
}

func (env *envelope) read(v rawjson.Value, known *names) {
	for m := v.Members(); m.Next(); {
		switch string(m.Key) {
		case "type":
			env.kind = known.text(m.Val)
		case "event":
			if env.kind == "" {
				env.kind = known.text(m.Val)
			}
		case "createdAt", "created_at":
			env.at = m.Val.Time()
		case "timestamp":
			if env.at.IsZero() {
				env.at = m.Val.Time()
			}
		case "connectionId", "connection_id":
			env.connection = known.text(m.Val)
		case "events":
			if m.Val.IsArray() {
				env.list = m.Val
			}
		case "data", "payload":
			if m.Val.IsObject() {
				env.data = m.Val
			}
		}
	}
}

// isBatch tells the batch {events: [...]} from an event with a member of that name. A batch may
// have a type, an id and a time. It has no data, and its members are objects.
func (env *envelope) isBatch() bool {
	if env.list == nil || env.kind == "" {
		return env.list != nil
	}
	first := env.list.Members()
	return env.data == nil && (!first.Next() || first.Val.IsObject())
}

// service reads one event in the service's own form. Without a data object the fields of the event
// are beside its type.
func (d *decoder) service(v rawjson.Value, env *envelope) error {
	data := env.data
	if data == nil {
		data = v
	}
	kind, status := kindOf(env.kind)
	e := messaging.Event{Type: env.kind, At: env.at, Connection: env.connection}
	e.Read(kind, data, status)
	if e.Connection == "" {
		e.Connection = data.First("connectionId", "connection_id")
	}
	return d.Add(e)
}

// kindOf returns the kind of a type of event. status is the word of a type such as message.read.
func kindOf(name string) (kind messaging.Kind, status string) {
	group, word, _ := strings.Cut(name, ".")
	switch {
	case name == "message.status" || group == "message" && messaging.Status(word).Known():
		return messaging.KindStatus, word
	case name == "message.received" || name == "message.inbound":
		return messaging.KindMessage, ""
	case name == "user.preference" || name == "user_preferences":
		return messaging.KindPreference, ""
	}
	switch group {
	case "template":
		return messaging.KindTemplate, ""
	case "preference":
		return messaging.KindPreference, ""
	case "number", "phone_number", "connection":
		return messaging.KindNumber, ""
	case "account", "company":
		return messaging.KindAccount, ""
	}
	return messaging.KindUnknown, ""
}
