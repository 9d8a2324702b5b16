package throttle

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"campaignd/throttle/redistest"
)

// watchedSlots runs slots.lua unchanged, with its own redis.call: that shows the script the time
// ARGV[13] seconds and ARGV[14] microseconds, and records what the script writes. The reply is the
// script's, followed by the words of its SET ("" without one).
var watchedSlots = `local server, written = redis, ''
local function script(redis)
` + slots + `
end
local reply = script({call = function(command, ...)
  if command == 'TIME' then return {ARGV[13], ARGV[14]} end
  if command == 'SET' then written = table.concat({...}, ' ') end
  return server.call(command, ...)
end})
reply[#reply + 1] = written
return reply`

// Every branch of the script, to the microsecond, with each edge at, just below and just above.
// Instants are microseconds from the script's now.
func TestSlotsAreExactAtEveryEdge(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })

	const (
		now   = 1763694000_123456 // 2025-11-21, by the server's clock
		none  = math.MaxFloat64   // no cursor, or none seen
		never = -1                // nothing written: no expiry
		junk  = math.MaxFloat64 / 2

		every   = 12_500 // 80 a second
		horizon = 250_000
		guard   = 400_000
		// A healthy cursor lies at most an interval beyond the horizon, or a guard ahead of a now that
		// was up to a second later.
		absurd = horizon + guard + every + 1_000_000
	)
	for _, c := range []struct {
		name         string
		stored, seen float64
		every        float64 // 0: 12,500
		wanted       int     // 0: 5
		suspect      int

		granted       int
		first, cursor float64
		reset         int
		expires       int // milliseconds
	}{
		{name: "never there", stored: none, seen: none, first: guard, cursor: guard, expires: 60_400},
		{name: "not a number", stored: junk, seen: none, first: guard, cursor: guard, expires: 60_400},
		{name: "lost, and the caller had seen less than the guard", stored: none, seen: 12_500, first: guard, cursor: guard, expires: 60_400},
		{name: "lost, and the caller had seen more", stored: none, seen: 450_000, first: 450_000, cursor: 450_000, expires: 60_450},
		{name: "lost, at a message in ten minutes", stored: none, seen: 600e6, every: 600e6, first: 600e6, cursor: 600e6, expires: 660_000},

		{name: "as the caller saw it", stored: 100_000, seen: 100_000, granted: 5, first: 100_000, cursor: 162_500, expires: 60_163},
		{name: "others leased since", stored: 100_000, seen: -5e6, granted: 5, first: 100_000, cursor: 162_500, expires: 60_163},
		{name: "half an interval less than seen, less one", stored: 100_000, seen: 106_249, granted: 5, first: 100_000,
			cursor: 162_500, expires: 60_163},
		{name: "half an interval less than seen", stored: 100_000, seen: 106_250, granted: 5, first: 100_000, cursor: 162_500, expires: 60_163},
		{name: "half an interval less than seen, and one", stored: 100_000, seen: 106_251, first: guard, cursor: guard, expires: 60_400},
		{name: "rewound, and the guard is what was seen", stored: 100_000, seen: guard, first: guard, cursor: guard, expires: 60_400},
		{name: "rewound behind more than the guard", stored: 100_000, seen: guard + 1, first: guard + 1, cursor: guard + 1, expires: 60_401},
		{name: "rewound to long ago", stored: -3600e6, seen: -1800e6, first: guard, cursor: guard, expires: 60_400},

		{name: "in doubt before the guard", stored: guard - 1, seen: none, suspect: 1, first: guard, cursor: guard, expires: 60_400},
		{name: "in doubt at the guard", stored: guard, seen: none, suspect: 1, first: guard, cursor: guard, expires: never},
		{name: "in doubt beyond the guard", stored: guard + 1, seen: none, suspect: 1, first: guard + 1, cursor: guard + 1, expires: never},
		{name: "in doubt with slots free", stored: 0, seen: 0, suspect: 1, first: guard, cursor: guard, expires: 60_400},

		{name: "an instant less than absurd", stored: absurd - 1, seen: none, first: absurd - 1, cursor: absurd - 1, expires: never},
		{name: "as far ahead as can be", stored: absurd, seen: none, first: absurd, cursor: absurd, expires: never},
		{name: "absurdly far ahead", stored: absurd + 1, seen: none, first: 650_000, cursor: 650_000, reset: 1, expires: 60_650},
		{name: "an hour ahead, as seen", stored: 3600e6, seen: 3600e6, first: 650_000, cursor: 650_000, reset: 1, expires: 60_650},
		{name: "an hour ahead by what was seen", stored: 0, seen: 3600e6, first: 650_000, cursor: 650_000, reset: 1, expires: 60_650},
		{name: "an hour ahead and in doubt", stored: 3600e6, seen: none, suspect: 1, first: 650_000, cursor: 650_000, reset: 1, expires: 60_650},
		{name: "slow, as far ahead as can be", stored: 2_150_000, seen: none, every: 500_000, first: 2_150_000,
			cursor: 2_150_000, expires: never},
		{name: "slow, absurdly far ahead", stored: 2_150_001, seen: none, every: 500_000, first: 750_000,
			cursor: 750_000, reset: 1, expires: 60_750},

		{name: "idle for long", stored: -60e6, seen: -60e6, granted: 5, first: 0, cursor: 62_500, expires: 60_063},
		{name: "idle for a microsecond", stored: -1, seen: -1, granted: 5, first: 0, cursor: 62_500, expires: 60_063},
		{name: "free at this instant", stored: 0, seen: 0, granted: 5, first: 0, cursor: 62_500, expires: 60_063},
		{name: "free in a microsecond", stored: 1, seen: 1, granted: 5, first: 1, cursor: 62_501, expires: 60_063},

		{name: "one wanted", stored: 0, seen: none, wanted: 1, granted: 1, first: 0, cursor: 12_500, expires: 60_013},
		{name: "one less than there are", stored: 0, seen: none, wanted: 20, granted: 20, first: 0, cursor: 250_000, expires: 60_250},
		{name: "as many as there are", stored: 0, seen: none, wanted: 21, granted: 21, first: 0, cursor: 262_500, expires: 60_263},
		{name: "more than there are", stored: 0, seen: none, wanted: 22, granted: 21, first: 0, cursor: 262_500, expires: 60_263},
		{name: "capacity for two", stored: 237_500, seen: none, granted: 2, first: 237_500, cursor: 262_500, expires: 60_263},
		{name: "capacity for one", stored: 237_501, seen: none, granted: 1, first: 237_501, cursor: 250_001, expires: 60_251},
		{name: "just before the horizon", stored: horizon - 1, seen: none, granted: 1, first: horizon - 1, cursor: 262_499, expires: 60_263},
		{name: "at the horizon", stored: horizon, seen: none, granted: 1, first: horizon, cursor: 262_500, expires: 60_263},
		{name: "just beyond the horizon", stored: horizon + 1, seen: none, first: horizon + 1, cursor: horizon + 1, expires: never},
		{name: "far beyond the horizon", stored: horizon + 10*every, seen: none, first: 375_000, cursor: 375_000, expires: never},
		{name: "parts of a microsecond", stored: 0.25, seen: none, every: 833.5, wanted: 3, granted: 3, first: 0.25,
			cursor: 2500.75, expires: 60_003},
		{name: "a message in ten minutes", stored: 0, seen: 0, every: 600e6, granted: 1, first: 0, cursor: 600e6, expires: 660_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := func(offset float64) string { return fmt.Sprintf("%.3f", now+offset) }
			key := "{n:" + strings.ReplaceAll(c.name, " ", "_") + "}:tat"
			if c.every == 0 {
				c.every = every
			}
			if c.wanted == 0 {
				c.wanted = 5
			}
			seen, stored := "0", "none"
			if c.seen != none {
				seen = at(c.seen)
			}
			switch c.stored {
			case none:
			case junk:
				stored = "junk"
			default:
				stored = at(c.stored)
			}
			if stored != "none" {
				server.Do("SET", key, stored)
			}
			want := fmt.Sprint([]any{c.granted, fmt.Sprint(now), at(c.first), at(c.cursor), c.reset, "1", "0", ""})
			if c.expires != never {
				want = fmt.Sprint([]any{c.granted, fmt.Sprint(now), at(c.first), at(c.cursor), c.reset, "1", "0",
					fmt.Sprintf("%s %s PX %d", key, at(c.cursor), c.expires)})
			}
			got, err := client.Eval(t.Context(), watchedSlots, []string{key, key + ":cubic"},
				c.every, c.wanted, horizon, guard, seen, c.suspect, 0, 0, 0, 0, 0, 1, now/1_000_000, now%1_000_000).Result()
			if err != nil || fmt.Sprint(got) != want {
				t.Errorf("granted, now, first, cursor, reset, part, stage, written:\n got %v, %v\nwant %v", got, err, want)
			}
		})
	}
}

// The arguments that a lease passes to the script. docs/operations.md promises 400 ms of silence
// after Redis lost its memory.
func TestLeaseTellsTheScriptItsConstants(t *testing.T) {
	for _, c := range []struct {
		name string
		m    memory
		at   int64 // the server's incidents
		want []any
	}{
		{"a new key", memory{cursor: "0"}, 0, []any{"12500.000", 7, int64(250_000), int64(400_000), "0", 0}},
		{"a key seen", memory{cursor: "1763694000123456.250", incident: 3}, 3,
			[]any{"12500.000", 7, int64(250_000), int64(400_000), "1763694000123456.250", 0}},
		{"an incident since", memory{cursor: "1763694000123456.250", incident: 3}, 4,
			[]any{"12500.000", 7, int64(250_000), int64(400_000), "1763694000123456.250", 1}},
	} {
		if got := c.m.args(12500*time.Microsecond, 7, c.at); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", c.want) {
			t.Errorf("%s: got %#v, want %#v", c.name, got, c.want)
		}
	}
	if got, want := (&memory{}).args(333_333_334, 1, 0)[0], "333333.334"; got != want {
		t.Errorf("interval of 3 a second: got %v, want %v", got, want)
	}
}

// The guard must outlast every lease that another process may still hold: its last slot lies a
// horizon ahead and may be used until lateness after that, and the clocks of two processes differ
// by their round trips.
func TestGuardOutlastsEveryLease(t *testing.T) {
	const roundTrips = 100 * time.Millisecond
	args := (&memory{cursor: "0"}).args(time.Millisecond, 1, 1)
	horizon, guard := time.Duration(args[2].(int64))*time.Microsecond, time.Duration(args[3].(int64))*time.Microsecond
	if want := horizon + Lateness + roundTrips; guard < want {
		t.Errorf("guard = %v, want at least %v (horizon %v + lateness %v + %v)", guard, want, horizon, Lateness, roundTrips)
	}
	for every, want := range map[time.Duration]time.Duration{
		150 * time.Millisecond: 400 * time.Millisecond,
		151 * time.Millisecond: 401 * time.Millisecond, // a horizon and an interval
		time.Second:            1250 * time.Millisecond,
		time.Minute:            1250 * time.Millisecond, // never two in a second
	} {
		if got := (&memory{}).args(every, 1, 0)[3]; got != want.Microseconds() {
			t.Errorf("guard of a slot every %v = %v us, want %v", every, got, want)
		}
	}
	if horizon != Horizon {
		t.Errorf("the script's horizon = %v, want %v", horizon, Horizon)
	}
	if guard != 400*time.Millisecond || Horizon != 250*time.Millisecond || Lateness != 20*time.Millisecond {
		t.Errorf("guard, horizon, lateness = %v, %v, %v; want 400ms, 250ms, 20ms", guard, Horizon, Lateness)
	}
}
