package ledger

// Segment is a segment whose epoch the transaction has checked.
type Segment struct {
	Key, Lo, Hi, Mark, Since int64
}

// Advance moves the mark up by ahead deliveries, for a ledger that went back in time. It returns since when what was in flight
// may have been posted, and the flags of what the mark passed now.
func (h *Segment) Advance(bound bool, ahead, since int64) (first int64, flags int) {
	h.Mark = min(h.Hi, h.Mark+ahead)
	if first = since; h.Since > 0 {
		first = min(first, h.Since)
	}
	if !bound {
		flags = FlagAnyConnection
	}
	return first, flags
}

// First is the key of the segment's first delivery, End one past its last, Marked the key at its mark.
func (h Segment) First() int64 { return RowID(RunOf(h.Key), h.Lo) }

func (h Segment) End() int64 { return RowID(RunOf(h.Key), h.Hi) }

func (h Segment) Marked() int64 { return RowID(RunOf(h.Key), h.Mark) }
