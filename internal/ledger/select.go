package ledger

import (
	"cmp"
	"slices"
	"time"

	"campaignd/campaign"
)

// Source is where a page of deliveries looks for what its filter selects.
type Source int

const (
	// FromDeliveries reads every delivery.
	FromDeliveries Source = iota
	// FromNumber reads the deliveries with the filter's number.
	FromNumber
	// FromOutcomes reads outcomes in the order of their keys.
	FromOutcomes
	// FromTroubles reads the outcomes of the index outcome_trouble, of the first of States.
	FromTroubles
	// FromCodes reads the outcomes of the same index, of a code.
	FromCodes
	// FromOpen reads the outcomes of the index outcome_open.
	FromOpen
	// FromQueued reads the deliveries above the marks that have no outcome.
	FromQueued
	// FromPosted reads the deliveries below the marks that have no outcome.
	FromPosted
)

// Lookup is one way to find deliveries. It finds all that its filter selects in this way, and may
// find more.
type Lookup struct {
	Source     Source
	States     []int64 // of outcomes
	Rank       int64   // of outcomes; -1: any
	Code       string  // of FromCodes, and of FromOpen, where "" is any
	Connection string  // "": any
	Key        int64   // of FromNumber
	Since      int64   // the latest time of outcomes, in milliseconds
	Until      int64
}

// Lookups returns the lookups that together find what the filter selects. A delivery that changes
// meanwhile goes from the source of one to that of the next: it may be found twice.
func Lookups(f *campaign.LineFilter) []Lookup {
	var all []Lookup
	add := func(from Source, rank Rank, states ...Outcome) {
		s := Lookup{Source: from, Rank: int64(rank), Connection: f.Connection, Key: f.Key, Code: cmp.Or(f.Reason, f.Code),
			Since: Millis(f.Since), Until: maxTime}
		if !f.Before.IsZero() {
			s.Until = Millis(f.Before)
		}
		for _, state := range states {
			s.States = append(s.States, int64(state))
		}
		all = append(all, s)
	}
	// Deliveries without an outcome have no time and no reason.
	bare := f.Since.IsZero() && f.Before.IsZero() && f.Reason == "" && f.Code == ""
	switch {
	case f.Key != 0:
		add(FromNumber, anyRank)
	case f.Status == campaign.Queued:
		if bare {
			add(FromQueued, anyRank)
		}
		add(FromOpen, anyRank, Deferred)
	case f.Status == campaign.Sending, f.Status == campaign.InDoubt:
		if bare {
			add(FromPosted, anyRank)
		}
		add(FromOpen, anyRank, Retrying, Doubt)
	case f.Reason != "":
		add(FromOpen, anyRank, Deferred, Retrying, Doubt)
		add(FromCodes, anyRank)
	case f.Code == campaign.NoCode && f.Status == "":
		add(FromTroubles, RankFailed, Accepted)
		add(FromTroubles, anyRank, Refused)
	case f.Code != "" && f.Code != campaign.NoCode:
		add(FromCodes, anyRank)
	case f.Status == campaign.Accepted:
		add(FromOutcomes, RankNone, Accepted)
	case f.Status == campaign.Sent:
		add(FromOutcomes, RankSent, Accepted)
	case f.Status == campaign.Delivered:
		add(FromOutcomes, RankDelivered, Accepted)
	case f.Status == campaign.Read:
		add(FromOutcomes, RankRead, Accepted)
	case f.Status == campaign.Failed:
		add(FromTroubles, RankFailed, Accepted)
	case f.Status == campaign.Refused:
		add(FromTroubles, anyRank, Refused)
	case f.Status == campaign.Skipped:
		add(FromTroubles, anyRank, Skipped)
	case f.Status == campaign.Unknown:
		add(FromTroubles, anyRank, Unknown)
	case !bare: // a time
		add(FromOutcomes, anyRank, Doubt, Unknown, Accepted)
	default:
		add(FromDeliveries, anyRank)
	}
	return all
}

const (
	anyRank Rank = -1
	maxTime      = 1<<63 - 1
)

// The limits of a page of selected deliveries.
const (
	// pageTime is how long a page looks for deliveries before it ends with what it has. Each read is
	// made so long that it ends within what is left of that time.
	pageTime = 8 * time.Millisecond
	// firstSpan is how many seqs the first read of a page covers: some milliseconds.
	firstSpan = campaign.SegmentSize
	leastSpan = 512
)

// Select makes a page of at most n deliveries that the filter selects, from the seq from on. end is
// one past the run's last seq. find does one lookup among the seqs [from, to): it returns at most n
// deliveries, the first ones in the order of their seqs. next is the seq at which to go on; 0:
// there are no more.
func Select(f *campaign.LineFilter, from, end int64, n int,
	find func(s *Lookup, from, to int64, n int) ([]campaign.Line, error)) (page []campaign.Line, next int64, err error) {
	lookups := Lookups(f)
	began := time.Now()
	for span := int64(firstSpan); from < end; {
		read := time.Now()
		to := min(from+span, end)
		var found []campaign.Line
		for i := range lookups {
			lines, err := find(&lookups[i], from, to, n+1)
			if err != nil {
				return nil, 0, err
			}
			found = append(found, lines...)
		}
		slices.SortFunc(found, func(a, b campaign.Line) int { return cmp.Compare(a.Seq, b.Seq) })
		found = slices.CompactFunc(found, func(a, b campaign.Line) bool { return a.Seq == b.Seq })
		if len(found) > n { // a lookup may have ended early, so only the first ones are all
			found = found[:n+1]
			to = found[n].Seq + 1
		}
		for i := range found {
			if !f.Selects(&found[i]) {
				continue
			}
			if len(page) == n {
				return page, found[i].Seq, nil
			}
			page = append(page, found[i])
		}
		from = to
		took, left := time.Since(read), pageTime-time.Since(began)
		if left < pageTime/8 {
			break
		}
		if more := 0.8 * float64(left) / float64(max(took, time.Microsecond)); more < 1 || len(found) <= n {
			// The next rows may be slower to read than these, so a span grows by steps.
			span = max(leastSpan, int64(float64(span)*min(more, 8)))
		}
	}
	if from >= end {
		from = 0
	}
	return page, from, nil
}
