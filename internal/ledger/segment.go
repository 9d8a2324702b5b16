package ledger

import (
	"slices"
	"strconv"
	"strings"

	"campaignd/campaign"
)

// Segment is a segment that a transaction works on.
type Segment struct {
	Key          int64
	Lo, Hi, Mark int64  // seq
	Bound        bool   // the import bound it to its connection
	Since        int64  // when its first intent since the last Recover was possible, in milliseconds
	GrantedBy    string // the owner that was granted what is open; "": not known
}

// ScanSegment reads id, lo, hi, mark and intents_since.
func ScanSegment(scan func(...any) error) (s Segment, err error) {
	err = scan(&s.Key, &s.Lo, &s.Hi, &s.Mark, &s.Since)
	return s, err
}

// First is the row id of the segment's first delivery.
func (s Segment) First() int64 { return RowID(RunOf(s.Key), s.Lo) }

// End is one past the row id of its last delivery.
func (s Segment) End() int64 { return RowID(RunOf(s.Key), s.Hi) }

// Marked is the row id at its mark.
func (s Segment) Marked() int64 { return RowID(RunOf(s.Key), s.Mark) }

// Granted returns the row ids of the deliveries of these seqs whose intents were committed, in
// order and each once.
func (s Segment) Granted(seqs []int64) (rids []int64) {
	for _, seq := range seqs {
		if seq >= s.Lo && seq < s.Mark {
			rids = append(rids, RowID(RunOf(s.Key), seq))
		}
	}
	slices.Sort(rids)
	return slices.Compact(rids)
}

// Advance moves the mark up by ahead deliveries, for a ledger that went back in time at since. It
// returns the earliest time at which the deliveries in flight may have been posted.
func (s *Segment) Advance(ahead, since int64) (first int64) {
	s.Mark = min(s.Hi, s.Mark+ahead)
	if first = since; s.Since > 0 {
		first = min(first, s.Since)
	}
	return first
}

// AfterCanary is the wake time, in milliseconds, of a segment that waits for the canary of its run:
// the last day of the year 9999. A claim passes over it, as over every segment whose wake time
// has not come.
const AfterCanary = 253402214400000

// WakeTime is the wake time of a new segment.
func WakeTime(s campaign.Segment) int64 {
	if s.AfterCanary {
		return AfterCanary
	}
	return 0
}

// ScanSegmentState reads index, zone, lo, hi, closed, mark, epoch, owner, the end of the lease, the
// wake time, connection, done, moves and bound of a segment of a run.
func ScanSegmentState(no campaign.RunNo, scan func(...any) error) (s campaign.SegmentState, err error) {
	var lease, wake int64
	var bound bool
	var moves string
	err = scan(&s.Index, &s.Group, &s.Lo, &s.Hi, &s.Closed, &s.Mark, &s.Epoch, &s.Owner, &lease, &wake, &s.Connection, &s.Done,
		&s.Moved, &moves, &bound)
	s.Moves = segmentMoves(moves)
	s.Run, s.LeaseUntil, s.WakeAt, s.AfterCanary = no, TimeOf(lease), TimeOf(wake), wake == AfterCanary
	if bound {
		s.Bound = s.Connection
	}
	return s, err
}

// segmentMoves reads the lines of segment.moves: rows, a space, and the connection.
func segmentMoves(text string) (all []campaign.SegmentMove) {
	for line := range strings.Lines(text) {
		rows, from, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.ParseInt(rows, 10, 64)
		if err == nil {
			all = append(all, campaign.SegmentMove{From: from, Rows: n})
		}
	}
	return all
}

// ScanLease reads index, zone, lo, hi, mark, epoch, connection, whether it was moved, and bound of
// a segment of a run.
func ScanLease(no campaign.RunNo, scan func(...any) error) (l campaign.Lease, err error) {
	var bound bool
	err = scan(&l.Index, &l.Group, &l.Lo, &l.Hi, &l.Mark, &l.Epoch, &l.Connection, &l.Moved, &bound)
	if l.Run, l.Recovered = no, l.Epoch > 1; bound {
		l.Bound = l.Connection
	}
	return l, err
}

// ScanFreeSegment reads run, connection, and whether the segment had an owner.
func ScanFreeSegment(scan func(...any) error) (s campaign.FreeSegment, err error) {
	err = scan(&s.Run, &s.Connection, &s.Begun)
	return s, err
}

// Claims says whether a claim takes segments of a run in this state. PostgreSQL chooses among many
// runs with this rule in its SQL; a test of ledgertest compares the two.
func Claims(c *campaign.Claim, s campaign.State, w campaign.Wanted) bool {
	return s.Sends() && (!c.Cancelled || w == campaign.WantCancel)
}

// MayMoveAway says whether the segment may go to another connection: the import did not bind it,
// each delivery below the mark has an outcome (below counts them), and no retry is without a
// result.
func MayMoveAway(s Segment, below, retrying int64) bool {
	return !s.Bound && retrying == 0 && below == s.Mark-s.Lo
}
