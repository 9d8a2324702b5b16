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

// Retirable is a segment whose deliveries are old enough to be deleted.
type Retirable struct {
	Segment, Lo, Hi int64
}

// Scan reads the columns id, lo and hi of a segment.
func (r *Retirable) Scan(scan func(...any) error) error { return scan(&r.Segment, &r.Lo, &r.Hi) }

// Run is the run of the segment.
func (r *Retirable) Run() campaign.RunNo { return RunOf(r.Segment) }

// First and End are the row ids [First, End) of its deliveries.
func (r *Retirable) First() int64 { return RowID(r.Run(), r.Lo) }

// End is one past the last row id.
func (r *Retirable) End() int64 { return RowID(r.Run(), r.Hi) }
