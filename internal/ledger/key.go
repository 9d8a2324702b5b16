package ledger

import (
	"time"

	"campaignd/campaign"
)

// RowID is the key of a delivery and of its outcome, the column rid: the run's number in the high
// half, seq in the low one. Rows of a run are inserted in the order of this one integer.
func RowID(no campaign.RunNo, seq int64) int64 { return int64(no)<<32 | seq }

// RunOf is the run of a row id, or of a key of a segment.
func RunOf(rid int64) campaign.RunNo { return campaign.RunNo(rid >> 32) }

// seqOf is the seq of a row id.
func seqOf(rid int64) int64 { return rid & 0xffffffff }

// MaxSeq is one past the last seq that a row id has room for.
const MaxSeq = int64(1) << 32

// SegmentKey is a segment's key: the run's number in the high half, its index in the low one.
func SegmentKey(no campaign.RunNo, index int64) int64 { return int64(no)<<32 + index }

// SegmentOf is the key of the segment that a row id lies in.
func SegmentOf(rid int64) int64 { return SegmentKey(RunOf(rid), seqOf(rid)/campaign.SegmentSize) }

// Millis is a time as the ledger stores it: Unix milliseconds, 0 for the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// TimeOf is the inverse of Millis, in UTC.
func TimeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// OrNow is at, or the present if at is zero.
func OrNow(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now()
	}
	return at
}

// Only returns the one row that was read, or the error missing when there is none.
func Only[T any](rows []T, err, missing error) (row T, _ error) {
	if err == nil && len(rows) == 0 {
		err = missing
	}
	if err != nil {
		return row, err
	}
	return rows[0], nil
}

// MaxSentence is the most bytes of a sentence for people, which ends with what they can do: that of
// a run that waits, or of a notification. A hold's sentence has its detail and up to 300 bytes
// more.
const MaxSentence = 1000

// NonNil gives an empty slice for nil, which the driver and JSON would write as NULL and null.
func NonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
