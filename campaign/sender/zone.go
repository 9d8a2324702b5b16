package sender

import (
	"log/slog"
	"sync"
	"time"
)

// zones are the time zones that segments name, each read once.
type zones struct {
	log *slog.Logger

	mu    sync.Mutex
	known map[string]*time.Location // nil: this machine does not know it
}

func newZones(log *slog.Logger) *zones { return &zones{log: log, known: map[string]*time.Location{}} }

// of is the zone of a group of a run's recipients. An import lets in only zones that its machine
// knows; a machine that does not know one uses the campaign's zone, and says so once.
func (z *zones) of(r *run, group string) *time.Location {
	if group == "" {
		return r.zone
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	loc, read := z.known[group]
	if !read {
		var err error
		if loc, err = time.LoadLocation(group); err != nil {
			loc = nil
			z.log.Warn("time zone is not known here: its recipients are sent to by the campaign's", "zone", group, "campaign", r.zone, "err", err)
		}
		z.known[group] = loc
	}
	if loc == nil {
		return r.zone
	}
	return loc
}
