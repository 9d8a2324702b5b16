package webhooks

import (
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// keepLater drops a resume unless it is later than every stop of its number, or of its user id, in
// the same batch, because Events has no order between its lists. If both wishes have the same time,
// the stop stays. It drops no stop: only the ledger knows whether a resume is a repetition.
func keepLater(e *campaign.Events) {
	if len(e.Lifted) == 0 && len(e.Wishes) == 0 || len(e.Suppressions) == 0 && len(e.Wishes) == 0 {
		return
	}
	type person struct {
		key           int64
		user, company string
	}
	stopped := map[person]time.Time{}
	stop := func(user string, s campaign.Suppression) {
		if of := (person{s.Key, user, s.Company}); s.Scope == campaign.ScopeMarketing && !s.At.Before(stopped[of]) {
			stopped[of] = s.At
		}
	}
	older := func(user string, s campaign.Suppression) bool {
		stop, both := stopped[person{s.Key, user, s.Company}]
		at, _ := reception.LiftTime(s.At, s.ReceivedAt)
		return both && !at.After(stop)
	}
	for _, s := range e.Suppressions {
		stop("", s)
	}
	for _, w := range e.Wishes {
		if !w.Resume {
			stop(w.UserID, w.Suppression)
		}
	}
	e.Lifted = slices.DeleteFunc(slices.Clone(e.Lifted), func(s campaign.Suppression) bool { return older("", s) })
	e.Wishes = slices.DeleteFunc(slices.Clone(e.Wishes), func(w campaign.Wish) bool {
		return w.Resume && w.UserID != "" && older(w.UserID, w.Suppression)
	})
}

// maxPairs bounds the pairs of a day in memory: about 10 MB.
const maxPairs = 100_000

// pairs are the pairs that the ledger was told today, so that at most one of the three statuses of
// a message writes a pair.
type pairs struct {
	mu   sync.Mutex
	day  int64
	told map[pair]bool
}

type pair struct {
	user string
	key  int64
}

// known reports whether the ledger was told of the pair today.
func (p *pairs) known(of campaign.Pair) bool {
	if of.Key == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told[pair{of.UserID, of.Key}] && p.day == dayOf(of.At)
}

// stored notes pairs that are committed.
func (p *pairs) stored(all []campaign.Pair) {
	if len(all) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range all {
		if of.Key == 0 {
			continue
		}
		if day := dayOf(of.At); p.told == nil || p.day != day || len(p.told) >= maxPairs {
			p.day, p.told = day, map[pair]bool{}
		}
		p.told[pair{of.UserID, of.Key}] = true
	}
}

func dayOf(at time.Time) int64 { return at.Unix() / (24 * 60 * 60) }
