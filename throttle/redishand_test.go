package throttle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"campaignd/throttle/redistest"
)

// A slot may be used up to Lateness after its instant. Slots that are later when the reply arrives
// are dropped.
func TestLateSlotsAreForfeited(t *testing.T) {
	const (
		every = 12_500 * time.Microsecond
		ms    = time.Millisecond
		old   = -time.Hour // no slots in hand
	)
	for _, c := range []struct {
		name       string
		first, end time.Duration // from now: the first instant granted, and the end of the slots handed out before
		n          int
		from       time.Duration // from now
		left       int
		wait, next time.Duration
	}{
		{"in time", 0, old, 10, 0, 10, 0, 125 * ms},
		{"as late as may be", -20 * ms, old, 10, -20 * ms, 10, 0, 105 * ms},
		{"a nanosecond later", -20*ms - 1, old, 10, every - 20*ms - 1, 9, 0, 105*ms - 1},
		{"an interval later", -20*ms - every, old, 10, -20 * ms, 9, 0, 105*ms - every},
		{"an interval and a nanosecond later", -20*ms - every - 1, old, 10, every - 20*ms - 1, 8, 0, 105*ms - every - 1},
		{"the last one left", -20*ms - 9*every, old, 10, -20 * ms, 1, 0, -20*ms + every},
		{"none left", -20*ms - 9*every - 1, old, 10, 0, 0, ms, -20*ms + every - 1},
		{"long ago", -time.Minute, old, 10, 0, 0, ms, -time.Minute + 125*ms},
		{"none granted", 300 * ms, 77 * ms, 0, 0, 0, 50 * ms, 77 * ms},
		{"none granted, free in a millisecond and one", 251*ms + 1, old, 0, 0, 0, ms + 1, old},
		{"none granted, free in a millisecond", 251 * ms, old, 0, 0, 0, ms, old},
		{"none granted, free at once", 250 * ms, old, 0, 0, 0, ms, old},
		{"where those in hand end", 10 * ms, 10 * ms, 10, 10 * ms, 10, 0, 135 * ms},
		{"after those in hand end", 10*ms + 1, 10 * ms, 10, 10*ms + 1, 10, 0, 135*ms + 1},
		{"before those in hand end", 10*ms - 1, 10 * ms, 10, 10 * ms, 10, 0, 135 * ms},
		{"in part beyond the horizon after those in hand", 199 * ms, 200 * ms, 10, 200 * ms, 5, 0, 200*ms + 5*every},
		{"beyond the horizon after those in hand", 249 * ms, 250*ms + 1, 10, 0, 0, ms, 250*ms + 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			now := time.Now()
			r := &Redis{clock: clock{base: now, known: true}}
			m := &memory{end: now.Add(c.end)}
			got := r.hand(m, grant{n: c.n, first: c.first}, Slots{Interval: every})
			if got.N != c.left || got.Wait != c.wait || got.Interval != every || got.N > 0 && got.First.Sub(now) != c.from {
				t.Errorf("%s: got %d slots from %v, wait %v, interval %v; want %d from %v, wait %v, interval %v",
					c.name, got.N, got.First.Sub(now), got.Wait, got.Interval, c.left, c.from, c.wait, every)
			}
			if next := m.end.Sub(now); next != c.next {
				t.Errorf("%s: slots in hand end at %v, want %v", c.name, next, c.next)
			}
		})
	}
}

func TestGrantIsReadToTheNanosecond(t *testing.T) {
	const us = time.Microsecond
	reply := func(change ...any) []any { // index, value
		parts := []any{int64(3), "1763694000123456", "1763694000123457.250", "1763694000160957.250", int64(0), "0.75", "42"}
		for i := 0; i < len(change); i += 2 {
			parts[change[i].(int)] = change[i+1]
		}
		return parts
	}
	good := grant{n: 3, now: 1763694000123456 * us, first: 1763694000123457*us + 250, cursor: "1763694000160957.250", part: 0.75, stage: 42}
	none, reset, whole, digits := good, good, good, good
	none.n, reset.reset, whole.first, digits.first = 0, true, 5*us, 5*us+123
	for _, c := range []struct {
		reply any
		want  *grant
	}{
		{reply(), &good}, {reply(0, int64(0)), &none}, {reply(4, int64(1)), &reset}, {reply(2, "5"), &whole}, {reply(2, "5.1239"), &digits},
		{nil, nil}, {"OK", nil}, {reply()[:6], nil}, {append(reply(), "more"), nil}, {reply(0, "3"), nil}, {reply(0, int64(-1)), nil},
		{reply(1, int64(5)), nil}, {reply(1, "soon"), nil}, {reply(2, nil), nil}, {reply(2, "5.x"), nil}, {reply(3, int64(5)), nil},
		{reply(4, "0"), nil}, {reply(5, "0"), nil}, {reply(5, "1.1"), nil}, {reply(5, "NaN"), nil}, {reply(5, nil), nil},
		{reply(6, "0.5"), nil}, {reply(6, nil), nil},
	} {
		got, err := parseGrant(c.reply)
		if c.want == nil && (err == nil || got != grant{}) || c.want != nil && (err != nil || got != *c.want) {
			t.Errorf("%v: got %+v, %v; want %+v", c.reply, got, err, c.want)
		}
	}
	if d, ok := micros("5.2"); d != 5*us+200 || !ok {
		t.Errorf("5.2 microseconds: got %v, %v, want 5.2µs", d, ok)
	}
}

// opened is a limiter with a server of its own.
func opened(t *testing.T) (*Redis, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t)
	for deadline := time.Now().Add(2 * time.Minute); ; {
		r, err := NewRedis(t.Context(), server.URL(0), Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.Patient()
		t.Cleanup(func() { _ = r.Close() })
		// On a busy machine the first exchanges are too slow to place slots, or time out.
		for range clockTries {
			if _, err = r.Lease(t.Context(), "warm", 80, 1); err == nil && r.clock.placed() && r.server.incidents() == 0 {
				return r, server
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 2 minutes: placed %v, %d incidents, %v, want a clock without an incident", r.clock.placed(), r.server.incidents(), err)
		}
	}
}

// load replaces slots.lua with another script.
func load(t *testing.T, r *Redis, text string) {
	t.Helper()
	sha, err := r.server.client.ScriptLoad(t.Context(), text).Result()
	if err != nil {
		t.Fatal(err)
	}
	r.slots = sha
}

// When the clock of Redis is set back by an hour, a cursor an hour ahead remains, in Redis and in
// what the caller remembers. Both are given up.
func TestClockSetBackIsNotAnHourOfSilence(t *testing.T) {
	t.Parallel()
	r, server := opened(t)
	load(t, r, `local server = redis
local function script(redis)
`+slots+`
end
return script({call = function(command, ...)
  if command ~= 'TIME' then return server.call(command, ...) end
  local time = server.call('TIME')
  return {time[1] + (server.call('GET', 'step') or 0), time[2]}
end})`)
	var log strings.Builder
	r.log = slog.New(slog.NewTextHandler(&log, nil))
	server.Do("SET", "step", "3600")
	r.clock.forget()
	until := func() Slots {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
			got, err := r.Lease(t.Context(), "conn_1", 80, 100)
			if err != nil {
				t.Fatal(err)
			}
			if got.N > 0 {
				return got
			}
			<-time.After(got.Wait)
		}
		t.Fatal("no slot in a minute, want one within a second")
		return Slots{}
	}
	before := until()
	server.Do("SET", "step", "0")
	incidents := r.server.incidents()
	got, err := r.Lease(t.Context(), "conn_1", 80, 100)
	if err != nil || got.N != 0 || got.Wait != Lateness || r.server.incidents() != incidents+1 {
		t.Errorf("the clock stepped: got %+v, %v, %d incidents; want no slot, a wait of %v, one incident", got, err,
			r.server.incidents()-incidents, Lateness)
	}
	if said := strings.Count(log.String(), "the clock of redis stepped"); said != 1 {
		t.Errorf("the log says %d times that the clock stepped, want 1", said)
	}
	if after := until(); after.First.Before(before.At(before.N)) {
		t.Errorf("slots after the step begin at %v, want none before %v", after.First, before.At(before.N))
	}
}

func TestLeaseRemembersWhatItWasGranted(t *testing.T) {
	t.Parallel()
	r, server := opened(t)
	remembered := func(want, when string, incidents int64) {
		t.Helper()
		if m := r.keys["conn_1"]; m.cursor != want || m.incident != incidents {
			t.Errorf("%s: remembers cursor %q and incident %d, want %q and %d", when, m.cursor, m.incident, want, incidents)
		}
	}
	try := func(when string, n int) Slots {
		t.Helper()
		got, err := r.Lease(t.Context(), "conn_1", 80, 100)
		if err != nil || n == 0 && got.N != 0 || n > 0 && got.N == 0 {
			t.Errorf("%s: got %+v, %v; want %d slots or more", when, got, err, n)
		}
		return got
	}
	cursor := func() string { return server.Do("GET", "{n:conn_1}:tat") }
	wait := try("a new key", 0)
	remembered("0", "without a grant", 0)
	got := wait // on a busy machine, all slots of a lease may be too late
	for deadline := time.Now().Add(time.Minute); got.N == 0 && time.Now().Before(deadline); {
		<-time.After(got.Wait + time.Millisecond)
		got = try("after the guard", -1)
	}
	if got.N == 0 {
		t.Fatal("after the guard: got no slot in a minute, want one")
	}
	granted := cursor()
	remembered(granted, "after a grant", 0)
	server.Do("SET", "{n:conn_1}:tat", "9"+granted[1:])
	try("a cursor in the far future", 0)
	reset := cursor()
	remembered(reset, "after a reset", 0)
	r.server.doubt()
	try("an incident", 0)
	remembered(reset, "after an incident", 1) // a guarded cursor is nobody's grant
}

func TestLeaseDoubtsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	r, _ := opened(t)
	if _, err := r.Lease(t.Context(), "", 80, 1); !errors.Is(err, ErrLease) {
		t.Errorf("no key: got %v, want ErrLease", err)
	}
	if _, err := r.Lease(t.Context(), "conn_1", 80, 1); err != nil || !r.clock.known {
		t.Errorf("a lease: got %v, clock known %v; want nil, true", err, r.clock.known)
	}
	load(t, r, "return 1")
	if got, err := r.Lease(t.Context(), "conn_1", 80, 1); !reflect.DeepEqual(got, Slots{}) || !errors.Is(err, ErrUnavailable) ||
		r.server.incidents() != 1 {
		t.Errorf("an answer that is no grant: got %+v, %v, %d incidents; want ErrUnavailable and one incident", got, err, r.server.incidents())
	}
	load(t, r, "return redis.error_reply('ERR broken')")
	if got, err := r.Lease(t.Context(), "conn_1", 80, 1); !reflect.DeepEqual(got, Slots{}) || !errors.Is(err, ErrUnavailable) ||
		r.server.incidents() != 2 || r.clock.known {
		t.Errorf("an error: got %+v, %v, %d incidents, clock known %v; want ErrUnavailable, 2 incidents, no clock", got, err,
			r.server.incidents(), r.clock.known)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.recall("conn_1").busy <- struct{}{} // another lease is under way
	cancel()
	if _, err := r.Lease(ctx, "conn_1", 80, 1); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		t.Errorf("an ended context: got %v, want %v, not ErrUnavailable", err, context.Canceled)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Ping(t.Context()); !errors.Is(err, ErrUnavailable) || !errors.Is(err, redis.ErrClosed) {
		t.Errorf("Ping after Close: got %v, want ErrUnavailable and redis.ErrClosed", err)
	}
}

// Lease promises to block for at most 200 ms on an open connection and 500 ms while connecting. A
// script that is sent twice would take its slots twice.
func TestRedisClientNeverRetriesNorWaitsLong(t *testing.T) {
	r, err := NewRedis(t.Context(), "redis://127.0.0.1:1/3", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o := r.server.client.Options()
	got := fmt.Sprint(o.MaxRetries, o.DialerRetries, o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout,
		o.PoolSize, o.DB, o.ContextTimeoutEnabled, o.DisableIdentity)
	if want := "0 1 500ms 200ms 200ms 200ms 8 3 true true"; got != want {
		t.Errorf("retries, dials, timeouts of dial, read, write, pool, pool, database, context, identity:\n got %s\nwant %s", got, want)
	}
	if o.MaintNotificationsConfig == nil || o.MaintNotificationsConfig.Mode != "disabled" {
		t.Errorf("maintenance notifications = %+v, want disabled", o.MaintNotificationsConfig)
	}
	if !(once{}).NoRetry() {
		t.Error("a lease may be replayed: got NoRetry false, want true")
	}
	if err := r.Ping(t.Context()); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "redis") {
		t.Errorf("Ping: got %v, want ErrUnavailable that names redis", err)
	}
}
