package ledger

import "campaignd/campaign"

// CountRetired adds a group of deliveries of a segment that retention deleted to the part that the
// segment lies in. It is one that is done.
func (t *Tally) CountRetired(parts []Part, segment int64, g Group) {
	first := RowID(RunOf(segment), seqOf(segment)*campaign.SegmentSize)
	for i := range parts {
		if p := &parts[i]; p.From <= first && first < p.To {
			t.Count(p, g)
			return
		}
	}
}
