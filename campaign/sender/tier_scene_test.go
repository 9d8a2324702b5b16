package sender_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/messaging"
)

// places is the tier of the scene below, for the people of both connections together.
const places = 250

var errKilled = errors.New("the process is dead")

// mortal is a process that may die: what it does afterwards reaches neither the ledger nor itself.
type mortal struct {
	campaign.Ledger
	*scene
	dead atomic.Bool
}

func (m *mortal) fault() error {
	if m.dead.Load() {
		return errKilled
	}
	return nil
}

func (m *mortal) Intend(ctx context.Context, in []campaign.Intent) ([]campaign.Granted, error) {
	if err := m.fault(); err != nil {
		return nil, err
	}
	return m.Ledger.Intend(ctx, in)
}

func (m *mortal) Record(ctx context.Context, all []campaign.Result) error {
	if err := m.fault(); err != nil {
		return err
	}
	return m.Ledger.Record(ctx, all)
}

func (m *mortal) Claim(ctx context.Context, c campaign.Claim) ([]campaign.Lease, error) {
	if err := m.fault(); err != nil {
		return nil, err
	}
	return m.Ledger.Claim(ctx, c)
}

func (m *mortal) Renew(ctx context.Context, all []campaign.Lease, d time.Duration) ([]campaign.Lease, error) {
	if err := m.fault(); err != nil {
		return nil, err
	}
	return m.Ledger.Renew(ctx, all, d)
}

func (m *mortal) Release(ctx context.Context, l campaign.Lease, unposted []int64) error {
	if err := m.fault(); err != nil {
		return err
	}
	return m.Ledger.Release(ctx, l, unposted)
}

func (m *mortal) Send(ctx context.Context, msg *messaging.Message) (messaging.Receipt, error) {
	if err := m.fault(); err != nil {
		return messaging.Receipt{}, &messaging.Error{Proof: messaging.NotSent, Action: messaging.RetryLater, Code: "not_connected"}
	}
	return m.scene.Send(ctx, msg)
}

// startMortal runs an engine until it is killed.
func (s *scene) startMortal(owner string) (kill func()) {
	s.t.Helper()
	m := &mortal{Ledger: s.ledger, scene: s}
	o := sender.Options{Owner: owner, Origin: origin, Pace: func(string) float64 { return pace }, Group: s.group}
	s.options(&o)
	engine, err := sender.New(m, m, s.limiter, o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	s.t.Cleanup(func() { <-ended })
	return func() {
		m.dead.Store(true)
		cancel()
	}
}

// mostIn24Hours is the greatest number of people with an accepted message in any 24 hours.
func (s *scene) mostIn24Hours() (most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*request
	for _, q := range s.requests {
		if q.accepted {
			all = append(all, q)
		}
	}
	slices.SortFunc(all, func(a, b *request) int { return a.at.Compare(b.at) })
	messages, first := map[string]int{}, 0
	for _, q := range all {
		for ; q.at.Sub(all[first].at) >= 24*time.Hour; first++ {
			if to := all[first].to; messages[to] == 1 {
				delete(messages, to)
			} else {
				messages[to]--
			}
		}
		messages[q.to]++
		most = max(most, len(messages))
	}
	return most
}

// taken counts the people who were reached since a time, or may have been.
func (s *scene) taken(since time.Time) int {
	people := map[string]bool{}
	s.mu.Lock()
	for _, q := range s.requests {
		if q.accepted && q.at.After(since) {
			people[q.to] = true
		}
	}
	s.mu.Unlock()
	for _, run := range s.runs {
		for line, err := range s.ledger.Lines(s.t.Context(), run.No) {
			if err != nil {
				s.t.Fatal(err)
			}
			if line.Status == campaign.InDoubt && since.Before(s.began) {
				people[line.To] = true
			}
		}
	}
	return len(people)
}

// Two numbers of a portfolio with a tier of 250 send three runs over the same 1,000 people, of whom
// the service refuses one message in 20. One of two processes is killed while it sends, and all are
// started anew before each of two days is over.
func TestThreeRunsShareTheTierOfAPortfolio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.options = func(o *sender.Options) {
			o.Tier = func(string) campaign.Tier { return campaign.Tier{Portfolio: "main", Places: places} }
		}
		s.answer = func(q *request) *http.Response {
			if q.nth%20 == 0 {
				return respond(400, `{"error":"send_permanent","message":"No.",
					"meta":{"errorClass":"permanent","retryable":false,"code":131049}}`)
			}
			return nil
		}
		people := make([]string, 1000)
		for i := range people {
			people[i] = phone(i)
		}
		back := slices.Clone(people)
		slices.Reverse(back)
		s.launchTo("first", people, "UTILITY", "{}", "conn_1", "conn_2")
		s.launchTo("second", slices.Concat(people[30:], people[:30]), "UTILITY", "{}", "conn_1", "conn_2")
		s.launchTo("third", back, "UTILITY", "{}", "conn_1", "conn_2")
		began := time.Now()
		full := func(day int) {
			t.Helper()
			got := s.taken(time.Now().Add(-24*time.Hour - time.Minute))
			t.Logf("day %d: %d of %d places are taken, after %d posts", day, got, places, s.count(began, time.Now(), nil))
			if got < places*98/100 || got > places {
				t.Errorf("day %d: %d people are reached and rows wait, want 245 to 250", day, got)
			}
		}
		kill := s.startMortal("a")
		_, stop := s.start("b")
		time.Sleep(1500 * time.Millisecond)
		kill()
		killed := s.count(began, time.Now(), nil)
		time.Sleep(time.Minute)
		full(1)
		stop()
		if all := s.count(began, time.Now(), nil); killed == 0 || killed == all {
			t.Errorf("%d of %d messages before the death, want some", killed, all)
		}
		for day := 2; day <= 3; day++ {
			turn := began.Add(time.Duration(day-1) * (24*time.Hour + time.Minute))
			time.Sleep(time.Until(turn.Add(-10 * time.Second)))
			before := s.count(began, time.Now(), nil)
			stop := s.startAll(2)
			time.Sleep(time.Until(turn.Add(time.Minute + 30*time.Second)))
			full(day)
			stop()
			if n := s.count(began, time.Now(), nil) - before; n < places/2 {
				t.Errorf("day %d: %d messages, want the places of the day before sent again", day, n)
			}
		}
		most := s.mostIn24Hours()
		t.Logf("%d of %d messages before the death; at most %d people in 24 hours", killed, s.count(began, time.Now(), nil), most)
		if most > places {
			t.Errorf("%d people in 24 hours as the service counts, want at most %d", most, places)
		}
		s.end()
	})
}
