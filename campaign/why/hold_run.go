package why

import (
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// origins returns the origin of the run's messages over each of its connections. of tells what
// holds can name of a connection. A definition that cannot be read has one unknown connection.
func origins(run campaign.Run, of func(connection string) campaign.Origin) []campaign.Origin {
	connections := []string{""}
	if def, err := file.ParseStored(run.ID(), run.Definition); err == nil {
		connections = def.Connections
	}
	all := make([]campaign.Origin, len(connections))
	for i, c := range connections {
		all[i] = of(c)
		all[i].Template, all[i].Language, all[i].Run = run.Template, run.Language, run.ID()
	}
	return all
}

// RunHolds returns the holds that are in force, or probe, and stop messages of the run over one of
// its connections or more. An ended run has none.
func RunHolds(run campaign.Run, holds []campaign.Hold, of func(connection string) campaign.Origin, now time.Time) []campaign.Hold {
	if len(holds) == 0 || run.State.Ended() {
		return nil
	}
	var found []campaign.Hold
	all := origins(run, of)
	for _, h := range holds {
		if !h.InForce(now) && !h.Probing(now) {
			continue
		}
		if stopsAny(h, all) {
			found = append(found, h)
		}
	}
	return found
}

func stopsAny(h campaign.Hold, of []campaign.Origin) bool { return slices.ContainsFunc(of, h.Stops) }

// History returns the history of a run without the holds that stop none of its messages.
func History(run campaign.Run, h campaign.History, of func(connection string) campaign.Origin) campaign.History {
	all := origins(run, of)
	h.Entries = slices.DeleteFunc(h.Entries, func(e campaign.HistoryEntry) bool {
		hold, is := e.Hold()
		return is && !stopsAny(hold, all)
	})
	return h
}

// Held reports whether every connection of the run is held. It returns the hold whose end lets the
// run go on: the longest hold of the connection that is free first.
func Held(
	run campaign.Run, holds []campaign.Hold, of func(connection string) campaign.Origin, now time.Time,
) (first campaign.Hold, held bool) {
	if len(holds) == 0 || run.State.Ended() {
		return campaign.Hold{}, false
	}
	for i, o := range origins(run, of) {
		h, held := campaign.HeldBy(holds, o, now)
		if !held {
			return campaign.Hold{}, false
		}
		if i == 0 || h.EndsBefore(first) {
			first = h
		}
	}
	return first, true
}
