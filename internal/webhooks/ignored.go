package webhooks

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/internal/messaging"
)

// ignored counts the events whose signature is right and does not vouch for the account or the
// number that they name (docs/security.md). They change nothing.
type ignored struct {
	n    atomic.Uint64
	line seldom

	mu    sync.Mutex
	named map[string]bool // what the log has named since the start
}

// maxNamed bounds ignored.named. Names beyond it are in the line of each minute only.
const maxNamed = 200

// add counts events by what they name, one name for each. A name is in the log at once when it
// comes for the first time, and then in at most one line a minute.
func (g *ignored) add(log *slog.Logger, at time.Time, names []string) {
	all := g.n.Add(uint64(len(names)))
	const message = "events were ignored: the secret that signed them does not vouch for what they name; see docs/cloud.md#webhooks"
	args := []any{"of", few(names), "events", len(names), "since_start", all}
	g.mu.Lock()
	first := false
	for _, name := range names {
		if !g.named[name] && len(g.named) < maxNamed {
			if g.named == nil {
				g.named = map[string]bool{}
			}
			g.named[name], first = true, true
		}
	}
	g.mu.Unlock()
	if first {
		log.Warn(message, args...)
		return
	}
	g.line.say(log, at, message, args...)
}

// seldom writes at most one line of the log a minute, because a stranger may cause it again and
// again.
type seldom struct {
	mu   sync.Mutex
	last time.Time
}

func (s *seldom) say(log *slog.Logger, at time.Time, message string, args ...any) {
	s.mu.Lock()
	due := s.last.IsZero() || at.Sub(s.last) >= time.Minute
	if due {
		s.last = at
	}
	s.mu.Unlock()
	if due {
		log.Warn(message, args...)
	}
}

// foreign names what an event of the service is about that only the platform may tell of; "" if
// it counts. sane ids are safe to log.
func (i *Intake) foreign(e *messaging.Event) string {
	company := ""
	if e.Change != nil {
		company = e.Change.Company
	}
	switch {
	case i.o.Foreign(e.Connection, "", ""):
		return "number " + e.Connection
	case i.o.Foreign("", e.Account, ""):
		return "account " + e.Account
	case i.o.Foreign("", "", company):
		return "company " + company
	}
	return ""
}

// few returns the first of the names in order, each once, for a line of the log.
func few(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(fewNames, len(names))]
}

const fewNames = 5
