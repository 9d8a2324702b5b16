package sandbox

import (
	"slices"
	"time"
)

// Replay says which events to post again (docs/service.md#delivery-of-events).
type Replay struct {
	// All replays also the events that were answered 2xx.
	All bool `json:"all"`
	// Types limits the replay to events of these types, such as template.status. Default: all.
	Types []string `json:"types"`
	// Since is the earliest time of an event; zero means the beginning.
	Since time.Time `json:"since"`
	// Until is the latest time of an event; zero means now.
	Until time.Time `json:"until"`
}

// Replay posts past events again. It returns the number of postings to all endpoints.
func (s *Sandbox) Replay(r Replay) int {
	now := time.Now()
	if r.Until.IsZero() {
		r.Until = now
	}
	fits := func(at, acked int64) bool {
		t := time.Unix(0, at)
		return at != 0 && !t.Before(r.Since) && !t.After(r.Until) && (r.All || acked == 0)
	}
	typed := func(typ string) bool { return len(r.Types) == 0 || slices.Contains(r.Types, typ) }
	n := 0
	for i := range s.records.len() {
		var due []slot
		s.records.with(i, func(rec *record) {
			for which := range statusSlots {
				if m := rec.marks[which]; fits(m.at, m.acked) && typed("message.status") {
					due = append(due, which)
				}
			}
		})
		for _, which := range due {
			n += s.push(posting{slot: which, post: now, flags: flagCopy}, i)
		}
	}
	s.mu.Lock()
	var extras []int
	for i, x := range s.extras {
		if fits(x.made.UnixNano(), x.acked) && typed(x.typ) {
			extras = append(extras, i)
		}
	}
	s.mu.Unlock()
	for _, i := range extras {
		n += s.pushExtra(i, now)
	}
	return n
}
