package sandbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Announcement is an event of any type, with any past time or without a time. It changes nothing in
// the sandbox.
type Announcement struct {
	// Type is the type of the event, or its field in the platform's envelope.
	Type string `yaml:"type"`
	// Connection and Company are the ids of what the event is about. If Connection is set, the event
	// is about its company, and Company is ignored.
	Connection string `yaml:"connection"`
	Company    string `yaml:"company"`
	// Ago is how long ago the event happened. Default: it happens now.
	Ago time.Duration `yaml:"ago"`
	// NoTime omits the time of the event.
	NoTime bool `yaml:"no_time"`
	// Data is the object under data, or the value in the platform's envelope.
	Data map[string]any `yaml:"data"`
}

// Announce posts the event to the endpoints.
func (s *Sandbox) Announce(a Announcement) error {
	return s.change(func(now time.Time) ([]int, error) { return s.announce(a, now) })
}

func (s *Sandbox) announce(a Announcement, now time.Time) (pushed []int, _ error) {
	if a.Type == "" || strings.ContainsAny(a.Type, "\"\\\n") {
		return nil, fmt.Errorf("sandbox: event type %q: give one such as template.status", a.Type)
	}
	x := &extra{typ: a.Type, field: a.Type, company: a.Company, at: now.Add(-a.Ago)}
	if a.Connection != "" {
		if x.conn = s.connection[a.Connection]; x.conn == nil {
			return nil, fmt.Errorf("sandbox: no connection %q", a.Connection)
		}
		x.company = x.conn.Company
	} else if a.Company != "" && s.company[a.Company] == nil {
		return nil, fmt.Errorf("sandbox: no company %q", a.Company)
	}
	raw, err := json.Marshal(a.Data)
	if err != nil {
		return nil, fmt.Errorf("sandbox: event data: %w", err)
	}
	if a.Data == nil {
		raw = []byte("{}")
	}
	x.data, x.value = raw, raw
	pushed = []int{s.addExtra(x)}
	if a.NoTime {
		x.at = time.Time{}
	}
	return pushed, nil
}
