package launch

import "campaignd/campaign"

// blocks assigns seqs. Each segment owns one block of SegmentSize seqs, so the rows of one window
// group lie together, and so do the rows that are never sent. Within a window group, seq follows
// the order of the list.
type blocks struct {
	run    campaign.RunNo
	full   int64 // deliveries in a segment, at most SegmentSize
	canary int64 // deliveries in a segment of the canary; 0: the run has none
	next   int64 // index of the next segment
	open   map[blockID]*block
	used   []*block // since the last take
}

// blockID says which segments a row may be in.
type blockID struct {
	group string
	kind  blockKind
}

// blockKind keeps rows apart that are sent at other times, or by one connection alone.
type blockKind struct {
	closed, afterCanary bool
	bound               string // Segment.Bound
}

type block struct {
	campaign.Segment
	used bool
}

// newBlocks continues where the segments of an interrupted import stopped. A full of 0 or less
// means SegmentSize.
func newBlocks(run campaign.RunNo, full int64, segments []campaign.SegmentState) *blocks {
	if full <= 0 {
		full = campaign.SegmentSize
	}
	b := &blocks{run: run, full: full, open: map[blockID]*block{}}
	for _, s := range segments {
		b.next = max(b.next, s.Index+1)
		id := blockID{s.Group, blockKind{s.Closed, s.AfterCanary, s.Bound}}
		if last := b.open[id]; last == nil || last.Index < s.Index {
			b.open[id] = &block{Segment: s.Segment}
		}
	}
	return b
}

// seq gives a row its seq.
func (b *blocks) seq(id blockID) int64 {
	kind, at := id.kind, b.open[id]
	full := b.full
	switch {
	case kind.closed:
		full = campaign.SegmentSize // no sender claims closed segments, so a few full ones do
	case b.canary > 0 && !kind.afterCanary:
		full = b.canary
	}
	if at == nil || at.Hi-at.Lo >= full {
		lo := b.next * campaign.SegmentSize
		at = &block{Segment: campaign.Segment{Run: b.run, Index: b.next, Group: id.group, Lo: lo, Hi: lo,
			Closed: kind.closed, AfterCanary: kind.afterCanary, Bound: kind.bound}}
		b.open[id] = at
		b.next++
	}
	if !at.used {
		at.used = true
		b.used = append(b.used, at)
	}
	at.Hi++
	return at.Hi - 1
}

// assign gives rows their seqs by the ids of their blocks, and returns the segments that they are
// in.
func (b *blocks) assign(rows []campaign.Delivery, ids []blockID) []campaign.Segment {
	for i := range rows {
		rows[i].Seq = b.seq(ids[i])
	}
	return b.take()
}

// take returns the segments that grew since the last take.
func (b *blocks) take() []campaign.Segment {
	out := make([]campaign.Segment, len(b.used))
	for i, s := range b.used {
		out[i], s.used = s.Segment, false
	}
	b.used = b.used[:0]
	return out
}
