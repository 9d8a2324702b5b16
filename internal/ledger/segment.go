package ledger

import "campaignd/campaign"

// Segment is a segment whose epoch the transaction has checked.
type Segment struct {
	Key          int64
	Lo, Hi, Mark int64  // seq
	Since        int64  // when its first intent since the last Recover was possible, in milliseconds
	GrantedBy    string // the owner that was granted what is open; "": not known
}

// First is the row id of the segment's first delivery.
func (s Segment) First() int64 { return RowID(RunOf(s.Key), s.Lo) }

// End is one past the row id of its last delivery.
func (s Segment) End() int64 { return RowID(RunOf(s.Key), s.Hi) }

// Marked is the row id at its mark.
func (s Segment) Marked() int64 { return RowID(RunOf(s.Key), s.Mark) }

// Advance moves the mark up by ahead deliveries, for a ledger that went back in time; since is when
// the lost time began. It returns since when the deliveries in flight may have been posted.
func (s *Segment) Advance(ahead, since int64) (first int64) {
	s.Mark = min(s.Hi, s.Mark+ahead)
	if first = since; s.Since > 0 {
		first = min(first, s.Since)
	}
	return first
}

// AfterCanary is the wake time, in milliseconds, of a segment that waits for the canary of its run: the
// last day of the year 9999. A claim passes over it like over any segment whose time has not come.
const AfterCanary = 253402214400000

// WakeTime is the wake time of a new segment.
func WakeTime(s campaign.Segment) int64 {
	if s.AfterCanary {
		return AfterCanary
	}
	return 0
}

// ScanSegmentState reads index, zone, lo, hi, closed, mark, epoch, owner, the end of the lease, the
// wake time, connection, done and moves of a segment of a run.
func ScanSegmentState(no campaign.RunNo, scan func(...any) error) (s campaign.SegmentState, err error) {
	var lease, wake int64
	err = scan(&s.Index, &s.Group, &s.Lo, &s.Hi, &s.Closed, &s.Mark, &s.Epoch, &s.Owner, &lease, &wake, &s.Connection, &s.Done, &s.Moved)
	s.Run, s.LeaseUntil, s.WakeAt, s.AfterCanary = no, TimeOf(lease), TimeOf(wake), wake == AfterCanary
	return s, err
}

// MayMoveAway says whether the segment may go to another connection: each delivery below the mark has
// an outcome (below of them do), and no retry is without a result.
func MayMoveAway(s Segment, below, retrying int64) bool {
	return retrying == 0 && below == s.Mark-s.Lo
}
