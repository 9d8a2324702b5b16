package throttle

import (
	"context"
	"sync"
	"time"
)

// Stock has the units of a quota that one number of one process may use, at most a Chunk. The
// sender draws a unit for each message before it composes the intent, and gives unused units back.
// One goroutine calls Draw and Tidy; others may call PutBack and Refund at the same time.
type Stock struct {
	counter Counter
	count   func(ctx context.Context, q Quota) (int64, error)

	mu     sync.Mutex
	hand   Units
	back   int // units of backOf that are given back with the next question
	backOf int64

	// The goroutine that draws alone uses the fields below.
	quota Quota
	again map[bool]Drawn // the answers that had no units, by reserve; not asked again before At
}

// Drawn are units for messages.
type Drawn struct {
	N          int
	Generation int64 // for Refund
	reserved   bool  // as Units.Reserved
	// Until is when the commit of their intent must start; UnitsGrace later it must be over.
	Until time.Time
	// At is when to ask again, if N is 0.
	At time.Time
	// Empty means that the period has no units left. If N is 0 and Empty is false, the count is being
	// rebuilt.
	Empty bool
}

// NewStock makes an empty stock. count asks the ledger how many units of the quota's period are
// used: the messages that were accepted, or may have been.
func NewStock(c Counter, count func(ctx context.Context, q Quota) (int64, error)) *Stock {
	return &Stock{counter: c, count: count, again: map[bool]Drawn{}}
}

// Draw takes up to n units of q out of the stock. It asks the counter when the stock has none, and
// does not wait. reserve says that the messages may have what the quota keeps. The error is the
// error of Counter.Take, or of the count in the ledger.
func (s *Stock) Draw(ctx context.Context, q Quota, n int, reserve bool) (Drawn, error) {
	now := time.Now()
	s.turnTo(q, now, func(u Units) bool { return u.Reserved && !reserve })
	if d := s.fromHand(n); d.N > 0 {
		return d, nil
	}
	if last := s.again[reserve]; now.Before(last.At) {
		return last, nil
	}
	u, err := s.ask(ctx, q, Ask{N: Chunk, Reserve: reserve})
	if err == nil && u.Rebuild != 0 {
		if err = s.rebuild(ctx, q, u.Rebuild); err == nil {
			u, err = s.ask(ctx, q, Ask{N: Chunk, Reserve: reserve})
		}
	}
	if err != nil {
		return Drawn{}, err
	}
	if u.N == 0 {
		d := Drawn{At: time.Now().Add(max(u.Wait, time.Millisecond)), Empty: u.Empty}
		s.again[reserve] = d
		return d, nil
	}
	clear(s.again)
	s.mu.Lock()
	s.hand = u
	s.mu.Unlock()
	return s.fromHand(n), nil
}

// fromHand takes up to n of the units in hand.
func (s *Stock) fromHand(n int) Drawn {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := Drawn{N: min(n, s.hand.N), Generation: s.hand.Generation, reserved: s.hand.Reserved, Until: s.hand.Until}
	s.hand.N -= d.N
	return d
}

// turnTo makes q the quota of the stock. Units of another quota or period are forgotten. Units in
// hand whose time is over, or that are unfit, are noted to be given back.
func (s *Stock) turnTo(q Quota, now time.Time, unfit func(Units) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quota.Key != q.Key || !s.quota.From.Equal(q.From) {
		s.hand, s.back = Units{}, 0 // the count of its period is over
		clear(s.again)
	}
	s.quota = q
	if s.hand.N > 0 && (!now.Before(s.hand.Until) || unfit(s.hand)) {
		s.giveBack(s.hand.N, s.hand.Generation)
		s.hand.N = 0
	}
}

// giveBack notes units for the next question. Those of an older generation are lost: the rebuilt
// count may have left them out. The caller holds the lock.
func (s *Stock) giveBack(n int, generation int64) {
	switch {
	case generation == s.backOf:
		s.back += n
	case generation > s.backOf:
		s.back, s.backOf = n, generation
	}
}

// ask asks the counter once, and gives back what was noted.
func (s *Stock) ask(ctx context.Context, q Quota, a Ask) (Units, error) {
	s.mu.Lock()
	a.Back, a.Generation = s.back, s.backOf
	s.back = 0 // also after an error: the question may have been answered
	s.mu.Unlock()
	return s.counter.Take(ctx, q, a)
}

// rebuild asks the ledger for the count, and restores it in the counter.
func (s *Stock) rebuild(ctx context.Context, q Quota, rebuild int64) error {
	used, err := s.count(ctx, q)
	if err != nil {
		return err
	}
	_, err = s.counter.Restore(ctx, q, rebuild, used)
	return err
}

// PutBack returns n units of d that no intent used.
func (s *Stock) PutBack(d Drawn, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Generation == s.hand.Generation && d.reserved == s.hand.Reserved && d.Until.Equal(s.hand.Until) {
		s.hand.N += n
		return
	}
	s.giveBack(n, d.Generation)
}

// Refund returns the unit of a message that was not sent: it was never posted, or the service
// refused it.
func (s *Stock) Refund(generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveBack(1, generation)
}

// Tidy gives back what was refunded, and the units in hand whose time is over; with leaving, all
// units in hand. It asks the counter only if there is something to give back.
func (s *Stock) Tidy(ctx context.Context, leaving bool) error {
	if s.quota.Key == "" {
		return nil
	}
	s.turnTo(s.quota, time.Now(), func(Units) bool { return leaving })
	s.mu.Lock()
	none := s.back == 0
	s.mu.Unlock()
	if none {
		return nil
	}
	_, err := s.ask(ctx, s.quota, Ask{})
	return err
}
