package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"

	"campaignd/campaign"
	"campaignd/recipients"
)

// area counts the deliveries of a segment whose numbers begin with the same digits.
type area struct {
	lowest int64 // of their numbers; 0: the rows have no number
	campaign.CountryCount
}

// sharedLength returns, for each three digits that a number may begin with, how many digits the
// calling code has if several countries share it; 0 if none do.
var sharedLength = sync.OnceValue(func() (lengths [1000]int8) {
	for _, code := range recipients.SharedCodes() {
		low, _ := strconv.Atoi((code + "00")[:3])
		high, _ := strconv.Atoi((code + "99")[:3])
		for i := low; i <= high; i++ {
			lengths[i] = int8(len(code))
		}
	}
	return lengths
})

// areaOf returns the first digits of a number that tell its country as far as recipients.Countries
// does: three contain the calling code, and three more follow a code that several countries share.
func areaOf(number int64) int64 {
	if number <= 0 {
		return 0
	}
	first := number // its first six digits
	for first >= 1_000_000 {
		first /= 10
	}
	for first < 100_000 {
		first *= 10
	}
	switch sharedLength()[first/1000] {
	case 1:
		return first / 100
	case 2:
		return first / 10
	case 3:
		return first
	}
	return first / 1000
}

// countArea counts a delivery in the area of its number.
func (c *Counting) countArea(number int64, state Outcome, rank Rank, failed bool) {
	id := areaOf(number)
	a := c.areas[id]
	if a == nil {
		a = &area{lowest: max(number, 0)}
		c.areas[id] = a
	}
	a.lowest = min(a.lowest, max(number, 0))
	a.Rows++
	switch state {
	case Skipped:
		a.Skipped++
	case Refused:
		a.Refused++
	case Accepted:
		a.Accepted++
	}
	if rank >= RankDelivered {
		a.Delivered++
	}
	if rank == RankRead {
		a.Read++
	}
	if failed {
		a.Failed++
	}
}

// countries adds up the areas by their countries. The country of an area is that of its lowest
// number, so that the same rows always have the same countries.
func (c *Counting) countries(where *recipients.Countries) []campaign.CountryCount {
	sums := map[string]campaign.CountryCount{}
	for _, a := range c.areas {
		if a.lowest > 0 {
			a.Country = where.Exactly("+" + strconv.FormatInt(a.lowest, 10))
		}
		sums[a.Country] = plusCountry(sums[a.Country], a.CountryCount)
	}
	return byRows(sums)
}

func plusCountry(a, b campaign.CountryCount) campaign.CountryCount {
	return campaign.CountryCount{
		Country: b.Country, Rows: a.Rows + b.Rows, Skipped: a.Skipped + b.Skipped, Refused: a.Refused + b.Refused,
		Accepted: a.Accepted + b.Accepted, Delivered: a.Delivered + b.Delivered, Read: a.Read + b.Read, Failed: a.Failed + b.Failed,
	}
}

// byRows lists countries, those with the most rows first.
func byRows(sums map[string]campaign.CountryCount) []campaign.CountryCount {
	return slices.SortedFunc(maps.Values(sums), func(a, b campaign.CountryCount) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Country, b.Country))
	})
}
