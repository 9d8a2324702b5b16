package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"campaignd/campaign"
)

// WirePosts are the attempts of a wire log, by their row ids.
type WirePosts struct {
	posted map[campaign.Post]bool
	most   map[int64]int64 // by segment: the highest seq
}

// PostsOf reads a wire log.
func PostsOf(w campaign.WireLog) (p WirePosts, err error) {
	if w.Owner == "" {
		return p, errors.New("the statement of a wire log needs its owner")
	}
	p = WirePosts{map[campaign.Post]bool{}, map[int64]int64{}}
	for _, post := range w.Posts {
		p.posted[post] = true
		id := SegmentOf(RowID(post.Run, post.Seq))
		p.most[id] = max(p.most[id], post.Seq)
	}
	return p, nil
}

// Has reports whether attempt n of a delivery was posted.
func (p WirePosts) Has(rid int64, attempt int) bool {
	return p.posted[campaign.Post{Run: RunOf(rid), Seq: seqOf(rid), Attempt: attempt}]
}

// Segments are the keys of the segments that the posts are of.
func (p WirePosts) Segments() []int64 { return slices.Sorted(maps.Keys(p.most)) }

// Check compares the posts of a segment with its mark, -1 if the ledger has no such segment. A post
// without an intent proves that the ledger lost transactions.
func (p WirePosts) Check(segment, mark int64) error {
	if seq := p.most[segment]; seq >= mark {
		return fmt.Errorf("%w: seq %d of run %d was posted, and the ledger has no intent of it; run `campaignd ledger quarantine`",
			ErrRestored, seq, RunOf(segment))
	}
	return nil
}
