package throttle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// A step is a difference of more than 50 ms, in either direction, that no round trip explains.
func TestClockStepsAreMoreThan50Milliseconds(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		redis time.Duration // its clock against ours, at the second reading
		trip  time.Duration
		same  bool
	}{
		{0, 0, true}, {50 * ms, 0, true}, {50*ms + 1, 0, false}, {-50 * ms, 0, true}, {-50*ms - 1, 0, false},
		// Redis may have read its clock at any instant of the trip.
		{50 * ms, 10 * ms, true}, {50*ms + 1, 10 * ms, false}, {-60 * ms, 10 * ms, true}, {-60*ms - 1, 10 * ms, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := clock{base: time.Now()}
			if !k.observe(0, 0) {
				t.Error("the first reading is a step: got false, want true")
			}
			asked := k.now()
			time.Sleep(c.trip)
			if same := k.observe(asked, k.now()+c.redis); same != c.same {
				t.Errorf("ahead by %v after a trip of %v: same clock %v, want %v", c.redis, c.trip, same, c.same)
			}
			want := min(0, -c.redis)
			if !c.same {
				want = -c.redis
			}
			if off := k.local(0).Sub(k.base); off != want {
				t.Errorf("ahead by %v after a trip of %v: offset %v, want %v", c.redis, c.trip, off, want)
			}
			k.forget()
			if !k.observe(k.now(), k.now()+time.Hour) {
				t.Error("the first reading after an error is a step: got false, want true")
			}
		})
	}
}

// The first exchange of a process is often slow, because it connects. No slot is placed by it, and
// the quick one after it does not say that the clock stepped. Three slow ones are the way to Redis.
func TestASlowFirstExchangePlacesNoSlot(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		k := clock{base: time.Now()}
		for i, c := range []struct {
			sent, back time.Duration // on the way to Redis, and on the way back
			placed     bool
			offset     time.Duration
		}{
			{20 * ms, 150 * ms, false, 150 * ms}, {0, 51 * ms, false, 51 * ms}, {0, ms, true, ms}, {180 * ms, 0, true, 0}, {0, 190 * ms, true, 0},
			{0, 60 * ms, false, 60 * ms}, {60 * ms, 0, false, 0}, {0, 60 * ms, true, 60 * ms}, // after an error
		} {
			if i == 5 {
				k.forget()
			}
			asked := k.now()
			time.Sleep(c.sent)
			read := k.now()
			time.Sleep(c.back)
			if same := k.observe(asked, read); !same || k.placed() != c.placed {
				t.Errorf("exchange %d: got the same clock %v, placed %v, want true, %v", i, same, k.placed(), c.placed)
			}
			if got := k.local(0).Sub(k.base); got != c.offset {
				t.Errorf("exchange %d: got an offset of %v, want %v", i, got, c.offset)
			}
		}
	})
}

// A reading counts for half a minute to a minute: the halves change places after 30 s.
func TestClockReadingsCountForAMinute(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		k := clock{base: time.Now()}
		for _, c := range []struct {
			at, offset time.Duration
			want       time.Duration
		}{
			{0, 5 * ms, 5 * ms},
			{30 * time.Second, 9 * ms, 5 * ms},
			{30*time.Second + 1, 9 * ms, 5 * ms}, // the halves change
			{31 * time.Second, 8 * ms, 5 * ms},
			{60*time.Second + 1, 9 * ms, 5 * ms},
			{60*time.Second + 2, 9 * ms, 8 * ms}, // the halves change: the reading of 5 ms is forgotten
			{61 * time.Second, 7 * ms, 7 * ms},
			{90*time.Second + 2, 9 * ms, 7 * ms},
			{121 * time.Second, 9 * ms, 7 * ms},  // the halves change; no reading since the last change
			{152 * time.Second, 10 * ms, 9 * ms}, // the halves change
		} {
			time.Sleep(time.Until(k.base.Add(c.at)))
			if !k.observe(k.now(), k.now()-c.offset) {
				t.Errorf("after %v: a step, want none", c.at)
			}
			if got := k.local(time.Hour).Sub(k.base) - time.Hour; got != c.want {
				t.Errorf("after %v: offset %v, want %v", c.at, got, c.want)
			}
		}
	})
}

// Three failures in a row open the breaker, for 200 ms each time.
func TestBreakerOpensAtTheThirdFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s, dials := away(slog.New(slog.NewTextHandler(&log, nil)))
		defer s.close()
		began := time.Now()
		for _, c := range []struct {
			at    time.Duration
			dials int
			open  bool
			away  int // how often the log says so
		}{
			{0, 1, false, 0}, {time.Second, 2, false, 0}, {2 * time.Second, 3, false, 1}, {2 * time.Second, 3, true, 1},
			{2200*time.Millisecond - 1, 3, true, 1}, {2200 * time.Millisecond, 4, false, 1}, {2200 * time.Millisecond, 4, true, 1},
			{2400*time.Millisecond - 1, 4, true, 1}, {2400 * time.Millisecond, 5, false, 1},
		} {
			time.Sleep(time.Until(began.Add(c.at)))
			_, err := s.do(t.Context(), "ping")
			if err == nil || errors.Is(err, errBreaker) != c.open || *dials != c.dials {
				t.Errorf("after %v: %v and %d dials, want breaker open %v and %d", c.at, err, *dials, c.open, c.dials)
			}
			if said := strings.Count(log.String(), "redis is away"); said != c.away {
				t.Errorf("after %v: the log says %d times that redis is away, want %d", c.at, said, c.away)
			}
		}
		if s.incidents() != 5 {
			t.Errorf("%d incidents, want 5: a command that was not sent lost nothing", s.incidents())
		}
		s.note(nil)
		said := log.String()
		if s.failures != 0 || s.incidents() != 5 || !strings.Contains(said, "redis answers again") || !strings.Contains(said, "failures=5") {
			t.Errorf("after an answer: %d failures, %d incidents; want 0, 5 and a line with failures=5 in\n%s", s.failures, s.incidents(), said)
		}
		log.Reset()
		s.note(errors.New("one"))
		s.note(errors.New("two"))
		s.note(fmt.Errorf("left: %w", context.Canceled)) // the caller left, the server did not fail: still an incident
		s.note(nil)
		if s.failures != 0 || s.incidents() != 8 || log.String() != "" {
			t.Errorf("two failures and a caller that left: %d failures, %d incidents, log %q; want 0, 8, nothing",
				s.failures, s.incidents(), log.String())
		}
	})
}

func TestWatchdogWaitsTenSecondsFromTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s, _ := away(slog.New(slog.NewTextHandler(&log, nil)))
		defer func() { _ = s.close() }()
		time.Sleep(time.Hour) // idle before
		began := time.Now()
		last := s.client
		for _, c := range []struct {
			at       time.Duration
			replaced bool
			said     int
		}{
			{0, false, 0}, {time.Second, false, 0}, {10 * time.Second, false, 0}, {10*time.Second + 1, false, 0}, // the breaker is open
			{10*time.Second + 200*time.Millisecond, true, 1}, {20*time.Second + 200*time.Millisecond, false, 1},
			{20*time.Second + 400*time.Millisecond, true, 1},
		} {
			time.Sleep(time.Until(began.Add(c.at)))
			_, _ = s.do(t.Context(), "ping")
			if replaced := s.client != last; replaced != c.replaced {
				t.Errorf("after %v: replaced %v, want %v", c.at, replaced, c.replaced)
			}
			last = s.client
			if said := strings.Count(log.String(), "connecting anew"); said != c.said {
				t.Errorf("after %v: the log says %d times that it connects anew, want %d", c.at, said, c.said)
			}
		}
		s.note(nil)
		for range breakerFailures - 1 {
			s.note(errors.New("once"))
		}
		time.Sleep(time.Hour)
		if _, _ = s.admit(); s.client != last || strings.Count(log.String(), "connecting anew") != 1 {
			t.Errorf("two failures, then an hour without calls: replaced %v, want false; the log, want one line:\n%s",
				s.client != last, log.String())
		}
		s.note(nil)
		for range breakerFailures {
			s.note(errors.New("again"))
		}
		time.Sleep(watchdogAfter)
		if _, _ = s.admit(); s.client != last {
			t.Error("a new outage of ten seconds: the client was replaced, want it only after more")
		}
		time.Sleep(breakerProbe)
		if _, _ = s.admit(); s.client == last || strings.Count(log.String(), "connecting anew") != 2 {
			t.Errorf("a new outage of more than ten seconds: replaced %v, want true; the log, want two lines:\n%s", s.client != last, log.String())
		}
		time.Sleep(time.Hour)
		last = s.client
		if err := s.close(); err != nil {
			t.Errorf("close: got %v, want nil", err)
		}
		if _, err := s.admit(); !errors.Is(err, redis.ErrClosed) || s.client != last {
			t.Errorf("closed during an outage: got %v, replaced %v; want %v, false", err, s.client != last, redis.ErrClosed)
		}
	})
}

// refusal is an error that Redis answered.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

func TestRefusalsNameTheRemedy(t *testing.T) {
	for answer, want := range map[redis.Error]string{
		refusal("WRONGPASS invalid username-password pair"):   "it refuses the user or password: check the address in `redis`: ",
		refusal("NOAUTH Authentication required."):            "it wants a password: give redis://:PASSWORD@HOST:PORT: ",
		refusal("NOPERM this user has no permissions"):        "its user may not do that: allow evalsha, eval, ping and info on all keys: ",
		refusal("READONLY You can't write against a replica"): "it is a replica: give the address of the master: ",
		refusal("LOADING Redis is loading the dataset"):       "",
	} {
		if err := explain(answer); err.Error() != want+answer.Error() || !errors.Is(err, answer) {
			t.Errorf("got %q, want %q that wraps the answer", err, want+answer.Error())
		}
	}
	if err := explain(nil); err != nil {
		t.Errorf("no error: got %v, want nil", err)
	}
}

// A connection to another server process is an incident. A connection whose server cannot be
// identified is one, too.
func TestAnotherServerIsAnIncident(t *testing.T) {
	t.Parallel()
	r, private := opened(t)
	conn := r.server.client.Conn()
	defer conn.Close()
	var log strings.Builder
	mine := r.server.runID
	if len(mine) != 40 || r.server.incidents() != 0 {
		t.Fatalf("after the first connection: run id %q, %d incidents; want 40 letters, 0", mine, r.server.incidents())
	}
	for _, c := range []struct {
		name, known, policy string
		info                string // whether its user may ask
		incidents           int64
		then                string
		warned              int
	}{
		{"the first", "", "noeviction", "+info", 0, mine, 0},
		{"the same", mine, "allkeys-lru", "+info", 0, mine, 1},
		{"another", "another", "volatile-ttl", "+info", 1, mine, 1},
		{"refused", mine, "allkeys-lru", "-info", 1, mine, 0},
		{"refused at first", "", "allkeys-lru", "-info", 1, "", 0},
	} {
		log.Reset()
		private.Do("CONFIG", "SET", "maxmemory-policy", c.policy)
		private.Do("ACL", "SETUSER", "default", c.info)
		s := &server{log: slog.New(slog.NewTextHandler(&log, nil)), runID: c.known}
		for range 2 { // said once
			before := s.incidents()
			if err := s.greet(t.Context(), conn); err != nil {
				t.Errorf("%s: got %v, want nil: a connection may be used all the same", c.name, err)
			}
			if got := s.incidents() - before; got != c.incidents && before == 0 {
				t.Errorf("%s: got %d incidents, want %d", c.name, got, c.incidents)
			}
		}
		if s.runID != c.then || strings.Count(log.String(), "noeviction") != c.warned {
			t.Errorf("%s: run id %q, want %q; warned, want %d times:\n%s", c.name, s.runID, c.then, c.warned, log.String())
		}
	}
}

func TestInfoFieldsAreWholeNames(t *testing.T) {
	const info = "# Server\r\nold_run_id:x\r\nrun_id_old:y\r\nrun_id: z \r\nrun_id:later\r\n"
	for name, want := range map[string]string{"run_id": "z", "old_run_id": "x", "id": "", "maxmemory_policy": ""} {
		if got := infoField(info, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
