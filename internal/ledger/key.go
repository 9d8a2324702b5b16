package ledger

import (
	"time"

	"campaignd/campaign"
)

// rid is a delivery's key in the ledger: the run's number in the high half, seq in
// the low one. One integer, and rows of a run are inserted in its order.
func rid(no campaign.RunNo, seq int64) int64 { return int64(no)<<32 | seq }

// runOf and seqOf take a rid apart.
func runOf(rid int64) campaign.RunNo { return campaign.RunNo(rid >> 32) }
func seqOf(rid int64) int64          { return rid & 0xffffffff }

// maxSeq is one past the last seq that a rid can hold.
const maxSeq = int64(1) << 32

// segmentID is a segment's key: the run's number in the high half, its index in the low one.
func segmentID(no campaign.RunNo, index int64) int64 { return int64(no)<<32 + index }

// segmentOf is the key of the segment that holds a rid.
func segmentOf(r int64) int64 { return segmentID(runOf(r), seqOf(r)/campaign.SegmentSize) }

// millis is how a time stands in the ledger: Unix milliseconds, 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// timeOf is the inverse of millis, in UTC.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// clip shortens prose to n bytes at a rune's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// maxDetail is the most bytes of prose that a row keeps.
const maxDetail = 300
