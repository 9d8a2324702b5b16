package throttle

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// away is a server that refuses every connection. It uses no socket, so that time can be fake.
func away(log *slog.Logger) (s *server, dials *int) {
	dials = new(int)
	s = new(server)
	s.init(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			*dials++
			return nil, errors.New("connection refused")
		},
		MaxRetries: -1, DialerRetries: 1, PoolSize: 100,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}, log)
	return s, dials
}

// A dead server is asked five times a second, however often a lease is asked for
// (docs/limits.md#when-redis-is-away).
func TestBreakerAsksADeadServerFiveTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, dials := away(slog.New(slog.DiscardHandler))
		defer s.close()
		for range 1000 { // two seconds
			if _, err := s.do(t.Context(), "ping"); err == nil {
				t.Fatalf("a dead server: got %v, want an error", err)
			}
			time.Sleep(2 * time.Millisecond)
		}
		if *dials < 3+8 || *dials > 3+10 {
			t.Errorf("%d dials in two seconds, want three and then five a second", *dials)
		}
		if n := s.incidents(); n != int64(*dials) {
			t.Errorf("%d incidents, want %d, one for each failure", n, *dials)
		}
	})
}

// A client that reaches nothing for ten seconds is replaced, and the log tells an operator once.
func TestWatchdogReplacesAClientThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s, _ := away(slog.New(slog.NewTextHandler(&log, nil)))
		defer func() { _ = s.close() }()
		first := s.client
		began := time.Now()
		for s.client == first && time.Since(began) < time.Minute {
			_, _ = s.do(t.Context(), "ping")
			time.Sleep(50 * time.Millisecond)
		}
		if took := time.Since(began); took < watchdogAfter || took > watchdogAfter+time.Second {
			t.Errorf("the client was replaced after %v, want %v", took, watchdogAfter)
		}
		// A minute later it has been replaced again.
		for since := time.Now(); time.Since(since) < time.Minute; time.Sleep(50 * time.Millisecond) {
			_, _ = s.do(t.Context(), "ping")
		}
		if strings.Count(log.String(), "connecting anew") != 1 || strings.Count(log.String(), "redis is away") != 1 {
			t.Errorf("want one line each of \"connecting anew\" and \"redis is away\", got:\n%s", log.String())
		}
	})
}

// The offset is the smallest reading of a minute. A slow reply does not move it; a step of the
// other clock does.
func TestClockFollowsRedisAndNoticesAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock{base: time.Now()}
		const ahead = 1000 * time.Hour // Redis's clock against ours
		exchange := func(there, back, step time.Duration) bool {
			asked := c.now()
			time.Sleep(there)
			redis := c.now() + ahead + step
			time.Sleep(back)
			return c.observe(asked, redis)
		}
		off := func() time.Duration { return c.local(ahead).Sub(c.base) }
		if !exchange(time.Millisecond, 3*time.Millisecond, 0) || off() != 3*time.Millisecond {
			t.Errorf("first reading: off by %v, want the 3 ms on the way back", off())
		}
		if !exchange(time.Millisecond, time.Millisecond, 0) || off() != time.Millisecond {
			t.Errorf("a better reading: off by %v, want 1 ms", off())
		}
		if !exchange(90*time.Millisecond, 90*time.Millisecond, 0) || off() != time.Millisecond {
			t.Errorf("a slow reply: off by %v, want 1 ms still", off())
		}
		for _, step := range []time.Duration{time.Hour, -time.Hour, 60 * time.Millisecond} {
			if exchange(time.Millisecond, time.Millisecond, step) {
				t.Errorf("a step to %v: same clock true, want false", step)
			}
			if exchange(time.Millisecond, time.Millisecond, 0) {
				t.Errorf("the step back from %v: same clock true, want false", step)
			}
		}
		time.Sleep(2 * clockMemory)
		exchange(0, 4*time.Millisecond, 0)
		time.Sleep(clockMemory)
		exchange(0, 4*time.Millisecond, 0)
		if off() != 4*time.Millisecond {
			t.Errorf("two minutes later: off by %v, want 4 ms", off())
		}
	})
}
