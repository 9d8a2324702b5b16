package plan

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// RunOf is a run of a ledger as a forecast sees it: its definition and what its segments still
// hold. The caller adds what neither tells: Marketing when the category is the service's, From and
// Waits.
func RunOf(run campaign.Run, def *file.Definition, segments []campaign.SegmentState) (Run, error) {
	limits := def.LimitsOf(run)
	r := Run{ID: run.ID(), Campaign: run.Campaign, Numbers: def.Connections, Rate: limits.Rate, Class: limits.Class,
		Weight: float64(limits.Weight), Budget: -1, Marketing: run.Marketing, Move: def.Limits.Move, Launched: run.CreatedAt,
		AssetUntil: run.AssetUntil}
	if run.Budget > 0 {
		r.Budget = max(run.Budget-run.Taken, 0)
	}
	r.Deadline = limits.Ends(run.CreatedAt)
	if d := time.Duration(def.Limits.NotAfter); d > 0 {
		r.NotAfter = run.CreatedAt.Add(d)
	}
	if c := def.Policies.Canary; c != nil {
		r.CanaryWait = c.Wait.Std()
	}
	if def.Window != nil {
		w, err := ParseWindow(*def.Window)
		if err != nil {
			return Run{}, err
		}
		r.Window = w
	}
	for _, s := range segments {
		left := s.Hi - s.Mark
		if s.Closed {
			continue
		}
		r.Done += s.Mark - s.Lo
		if s.Done || left <= 0 {
			continue
		}
		zones, err := ZonesOf(def, s.Group)
		if err != nil {
			return Run{}, err
		}
		g := Group{Remaining: left, Zones: zones, AfterCanary: s.AfterCanary}
		if s.Mark > s.Lo || s.Bound != "" {
			g.Number, g.Bound = s.Connection, s.Bound != ""
		}
		r.Groups = append(r.Groups, g)
	}
	return r, nil
}

// ZonesOf are the time zones of a window group: its own, else the zone of the campaign's schedule.
func ZonesOf(def *file.Definition, group string) ([]*time.Location, error) {
	if group == "" && def.Schedule != nil {
		group = def.Schedule.Timezone
	}
	return Zones(group)
}

// Blocks are the groups of a list that is not imported yet: the rows of each zone in segments, in
// the order in which an import begins them if the zones are mixed evenly.
func Blocks(def *file.Definition, zones map[string]int64) ([]Group, error) {
	var out []Group
	type one struct {
		Group
		at float64 // of its first row in the list
	}
	var all []one
	var sendable, canary, canarySize int64
	for _, rows := range zones {
		sendable += rows
	}
	size := campaign.SegmentFor(sendable, len(def.Connections))
	if c := def.Policies.Canary; c != nil {
		canary, canarySize = c.Count, campaign.CanarySegment(c.Count, len(def.Connections), size)
	}
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		in, err := ZonesOf(def, name)
		if err != nil {
			return nil, err
		}
		rows := zones[name]
		add := func(from, to, size int64, after bool) {
			for first := from; first < to; first += size {
				all = append(all, one{Group{Remaining: min(to-first, size), Zones: in, AfterCanary: after}, float64(first) / float64(rows)})
			}
		}
		chosen := int64(0) // of the canary, which takes from each zone alike
		if canary > 0 {
			chosen = min(int64(math.Round(float64(canary)*float64(rows)/float64(sendable))), rows)
			add(0, chosen, canarySize, false)
		}
		add(chosen, rows, size, canary > 0)
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(a.at, b.at) })
	for _, o := range all {
		out = append(out, o.Group)
	}
	return out, nil
}
