package campaign

// blocks hands out seq: one block of SegmentSize for each segment, so that the rows of one window
// group, and those never sent, lie together. Within a group seq follows the order of the list.
type blocks struct {
	run  RunNo
	full int64 // deliveries in a segment, at most SegmentSize
	next int64 // index of the next segment
	open map[blockKey]*block
	used []*block // since the last take
}

type blockKey struct {
	group  string
	closed bool
}

type block struct {
	Segment
	used bool
}

// segmentFor is how many deliveries a segment should hold so that a list of rows spreads over its
// connections: a few segments for each, none below 64 (a group of the fastest number).
func segmentFor(rows int64, connections int) int64 {
	return min(max(rows/int64(4*max(connections, 1)), 64), SegmentSize)
}

// newBlocks goes on where the segments of an interrupted import stopped.
func newBlocks(run RunNo, full int64, segments []SegmentState) *blocks {
	if full <= 0 {
		full = SegmentSize
	}
	b := &blocks{run: run, full: full, open: map[blockKey]*block{}}
	for _, s := range segments {
		b.next = max(b.next, s.Index+1)
		key := blockKey{s.Group, s.Closed}
		if last := b.open[key]; last == nil || last.Index < s.Index {
			b.open[key] = &block{Segment: s.Segment}
		}
	}
	return b
}

// place gives a row its seq.
func (b *blocks) place(group string, closed bool) int64 {
	key := blockKey{group, closed}
	at := b.open[key]
	full := b.full
	if closed {
		full = SegmentSize // nobody claims it: as few as possible
	}
	if at == nil || at.Hi-at.Lo >= full {
		lo := b.next * SegmentSize
		at = &block{Segment: Segment{Run: b.run, Index: b.next, Group: group, Lo: lo, Hi: lo, Closed: closed}}
		b.open[key] = at
		b.next++
	}
	if !at.used {
		at.used = true
		b.used = append(b.used, at)
	}
	at.Hi++
	return at.Hi - 1
}

// take lists the segments that grew since the last take, as they are now.
func (b *blocks) take() []Segment {
	out := make([]Segment, len(b.used))
	for i, s := range b.used {
		out[i], s.used = s.Segment, false
	}
	b.used = b.used[:0]
	return out
}
