package throttletest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"campaignd/throttle"
)

// Plays of neverMore.
const (
	playNumbers = 4 // senders of each counter
	playLimit   = 600
	playKept    = 60
	// playMost bounds a play in real time that goes on until a later period has sent something.
	playMost = 2 * time.Minute
)

// Book is what a ledger knows of messages, and what the service counts: by the time of acceptance.
type Book struct {
	mu       sync.Mutex
	pending  int64
	accepted []time.Time
	kept     map[time.Time]int // marketing messages by their time of acceptance
	latest   time.Time         // the begin of the latest period of which units were used
}

// count is how many units of the quota's period are used: accepted in it, or perhaps to be.
func (b *Book) count(_ context.Context, q throttle.Quota) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.pending
	for _, at := range b.accepted {
		if !at.Before(q.From) {
			n++
		}
	}
	return n, nil
}

// intend begins n messages with units of the period that begins at from. It refuses units whose
// time is over, as the ledger's transaction does, so that a count that comes later misses none.
func (b *Book) intend(n int, from, until time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !time.Now().Before(until) {
		return false
	}
	b.pending += int64(n)
	if n > 0 && from.After(b.latest) {
		b.latest = from
	}
	return true
}

// last returns the begin of the latest period of which units were used.
func (b *Book) last() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.latest
}

func (b *Book) answer(accepted, marketing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending--
	if accepted {
		at := time.Now()
		b.accepted = append(b.accepted, at)
		if marketing {
			b.kept[at]++
		}
	}
}

// in returns how many messages the service accepted from from on and before to, and how many of
// them were marketing.
func (b *Book) in(from, to time.Time) (all, marketing int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, at := range b.accepted {
		if !at.Before(from) && at.Before(to) {
			all++
		}
	}
	for at, n := range b.kept {
		if !at.Before(from) && at.Before(to) {
			marketing += n
		}
	}
	return all, marketing
}

// play has the numbers of all counters send as much as they can for some periods, with refusals,
// unused units, late answers, and senders that die with a chunk in hand. In real time it takes more
// periods until units of a later period than the first were used. It returns what was sent, when
// the first period began, and how many chunks died.
func play(t *testing.T, s quotaSuite, all Shared, seed uint64) (b *Book, first time.Time, died int) {
	t.Helper()
	period := s.period
	b = &Book{kept: map[time.Time]int{}}
	first = time.Now().Truncate(time.Millisecond)
	end := first.Add(time.Duration(s.periods) * period)
	plays := func() bool {
		now := time.Now()
		return now.Before(end) || !s.virtual && !b.last().After(first) && now.Before(first.Add(playMost))
	}
	quotaNow := func() throttle.Quota {
		n := time.Since(first) / period
		from := first.Add(n * period)
		return throttle.Quota{Key: fmt.Sprint("plan:co_", seed), From: from, To: from.Add(period), Limit: playLimit, Kept: playKept}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, c := range all.Counters {
		for number := range playNumbers {
			wg.Go(func() {
				draw := rand.New(rand.NewPCG(seed, uint64(i*playNumbers+number))) //nolint:gosec // small
				marketing := number%2 == 0
				var answers sync.WaitGroup
				defer answers.Wait()
				for born := time.Now(); plays(); born = time.Now() {
					dies := born.Add(time.Duration(draw.Int64N(int64(2 * period))))
					stock := throttle.NewStock(c, b.count)
					for plays() && time.Now().Before(dies) {
						sendSome(stock, b, quotaNow(), draw, marketing, period, &answers)
					}
					mu.Lock()
					died++
					mu.Unlock()
				}
			})
		}
	}
	if all.Lose != nil {
		wg.Go(func() {
			for plays() {
				time.Sleep(period * 7 / 10)
				all.Lose()
			}
		})
	}
	wg.Wait()
	return b, first, died
}

// sendSome sends a group as a planner and a poster do.
func sendSome(s *throttle.Stock, b *Book, q throttle.Quota, draw *rand.Rand, marketing bool, period time.Duration,
	answers *sync.WaitGroup) {
	most := 1 + draw.IntN(40)
	pause := time.Duration(draw.Int64N(int64(period / 100)))
	d, err := s.Draw(context.Background(), q, most, !marketing)
	if err != nil {
		time.Sleep(retry)
		return
	}
	used := d.N - draw.IntN(d.N/4+1)
	s.PutBack(d, d.N-used)
	if !b.intend(used, q.From, d.Until) {
		used = 0 // the units are lost, as with a sender that dies
	}
	for range used {
		late, refused := time.Duration(draw.Int64N(int64(period/20))), draw.IntN(10) == 0
		answers.Go(func() {
			time.Sleep(late)
			b.answer(!refused, marketing)
			if refused {
				s.Refund(d.Generation)
			}
		})
	}
	time.Sleep(max(pause, time.Millisecond))
	_ = s.Tidy(context.Background(), false)
}

// check returns what is wrong with a period: more than the limit, or more marketing than leaves the
// reserve.
func check(all, marketing int) error {
	if all > playLimit {
		return fmt.Errorf("%d messages, want at most %d", all, playLimit)
	}
	if marketing > playLimit-playKept {
		return fmt.Errorf("%d marketing messages, want at most %d: the reserve is kept", marketing, playLimit-playKept)
	}
	return nil
}

func neverMore(t *testing.T, s quotaSuite, all Shared) {
	for seed := range s.plays {
		neverMoreOf(t, s, all, uint64(seed)+1) //nolint:gosec // small
	}
}

// neverMoreOf is one play. Its seed repeats it in virtual time. How much a period sends depends on
// the machine in real time; only virtual time has a least for each period.
func neverMoreOf(t *testing.T, s quotaSuite, all Shared, seed uint64) {
	b, first, died := play(t, s, all, seed)
	for i, from := 0, first; time.Now().After(from); i, from = i+1, from.Add(s.period) {
		n, marketing := b.in(from, from.Add(s.period))
		t.Logf("seed %d, period %d: %d of %d messages, %d of %d marketing; %d senders died in all", seed, i, n, playLimit,
			marketing, playLimit-playKept, died)
		if err := check(n, marketing); err != nil {
			t.Errorf("seed %d, period %d: got %v", seed, i, err)
		}
		if least := playLimit / 2; s.virtual && i < s.periods && n < least {
			t.Errorf("seed %d, period %d: %d messages, want %d or more", seed, i, n, least)
		}
	}
	if !b.last().After(first) {
		t.Errorf("seed %d: the last unit used was of the period that began at %v, want one of a period after %v", seed, b.last(), first)
	}
}
