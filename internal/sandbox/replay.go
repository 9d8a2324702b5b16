package sandbox

import (
	"campaignd/internal/sandbox/area"
	"net/http"
	"slices"
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

// Replay posts past events again. It returns the number of postings to all endpoints.
func (s *Sandbox) Replay(r Replay) int { return s.replay(r, &Key{}, every) }

// replay is Replay, limited to the events that the key covers, and to one endpoint unless only is
// every.
func (s *Sandbox) replay(r Replay, key *Key, only int) int {
	now := time.Now()
	if r.Until.IsZero() || r.Until.After(now) { // the records also have statuses that will happen later
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
			if _, company := s.about(item{index: i, slot: which}); !covers(key, company) {
				continue
			}
			n += s.push(posting{slot: which, post: now, flags: flagCopy}, i, only)
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
		if _, company := s.about(item{index: uint32(i), slot: slotExtra}); !covers(key, company) {
			continue
		}
		n += s.push(posting{slot: slotExtra, at: now, post: now}, uint32(i), only)
	}
	return n
}

// replayed is the answer to a request for a replay.
type replayed struct {
	Deliveries int `json:"deliveries"`
}

// replayWebhooks is POST /api/v1/webhooks/replay {since, until}. All events of that time are posted
// again, also those that were answered 2xx.
func (s *Sandbox) replayWebhooks(w http.ResponseWriter, r *http.Request, key *Key) {
	raw, ref := body(w, r)
	if ref != nil {
		refuse(w, ref)
		return
	}
	var in struct{ since, until string }
	if err := decodeObject(raw, "body", field{"since", &in.since}, field{"until", &in.until}); err != nil {
		refuse(w, area.RefuseRequest(err.Error()+"."))
		return
	}
	since, err := time.Parse(time.RFC3339, in.since)
	until, other := time.Parse(time.RFC3339, in.until)
	if err != nil || other != nil || !since.Before(until) {
		refuse(w, area.Refuse(400, "missing_fields", "since and until are required, as times of RFC 3339."))
		return
	}
	n := s.replay(Replay{All: true, Since: since, Until: until}, key, every)
	writeJSON(w, http.StatusOK, single[replayed]{Data: replayed{n}})
}
