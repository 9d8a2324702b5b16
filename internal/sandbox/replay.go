package sandbox

import (
	"campaignd/internal/sandbox/area"
	"slices"
	"time"
)

// Replay posts past events again. It returns the number of postings to all endpoints.
func (s *Sandbox) Replay(r Replay) int { return s.replay(r, &Key{}, nil) }

// replay is Replay, limited to the events that the key covers, and to one endpoint unless only is
// nil.
func (s *Sandbox) replay(r Replay, key *Key, only *area.Endpoint) int {
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
