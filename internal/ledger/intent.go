package ledger

import (
	"maps"

	"campaignd/campaign"
)

// Portion is what of a group or of its retries is granted.
type Portion struct {
	To    int64 // of a group: the new mark
	Count int64 // deliveries taken from the budget
	Short bool  // of retries: the budget did not allow one
	Skip  map[int64]campaign.SkipReason
	Hold  []campaign.Deferral // of a group: passed by the mark, not posted
	Grant []campaign.Retry
}

// SkippedOf is what an answer says of both, in a map of its own: they are written apart.
func SkippedOf(group, retries Portion) map[int64]campaign.SkipReason {
	if len(group.Skip)+len(retries.Skip) == 0 {
		return nil
	}
	all := maps.Clone(retries.Skip)
	if all == nil {
		all = map[int64]campaign.SkipReason{}
	}
	maps.Copy(all, group.Skip)
	return all
}

func OnlyEmpty(m map[int64]campaign.SkipReason) bool {
	for _, why := range m {
		if why != "" {
			return false
		}
	}
	return true
}
