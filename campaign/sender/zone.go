package sender

import (
	"log/slog"
	"sync"
	"time"

	"campaignd/campaign/plan"
)

// zones are the time zones that segments name, each read once.
type zones struct {
	log *slog.Logger

	mu    sync.Mutex
	known map[string][]*time.Location // by window group; nil: this machine does not know all of them
}

func newZones(log *slog.Logger) *zones { return &zones{log: log, known: map[string][]*time.Location{}} }

// of returns the zones of a window group of a run's recipients. An import lets in only zones that
// its machine knows; a machine that does not know one uses the campaign's zone, and says so once.
func (z *zones) of(r *run, group string) []*time.Location {
	if group == "" {
		return []*time.Location{r.zone}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	all, read := z.known[group]
	if !read {
		var err error
		if all, err = plan.Zones(group); err != nil {
			all = nil
			z.log.Warn("time zone is not known here: its recipients are sent to by the campaign's", "run", r.id, "zone", group,
				"instead", r.zone, "err", err)
		}
		z.known[group] = all
	}
	if all == nil {
		return []*time.Location{r.zone}
	}
	return all
}
