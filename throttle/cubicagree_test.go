package throttle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"campaignd/throttle/redistest"
)

// adaptAt runs cubic.lua at a time that the caller gives.
var adaptAt = adaptLua + `
local part, stage = adapt(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), {
  stage = tonumber(ARGV[3]), accepted = tonumber(ARGV[4]), throttled = tonumber(ARGV[5]),
  lateAccepted = tonumber(ARGV[6]), lateThrottled = tonumber(ARGV[7]),
}, tonumber(ARGV[8]))
return {string.format('%.17g', part), string.format('%.0f', stage)}`

// moment is what is heard after a time, drawn so that every branch is met.
func moment(random *rand.Rand, mood int) (after time.Duration, accepted, throttled float64, late bool) {
	after = time.Duration(1+random.IntN(300_000)) * time.Microsecond
	if random.IntN(40) == 0 {
		after *= 20
	}
	n := random.IntN(20)
	share := []float64{0, 0.01, 0.03, 0.3, 1}[mood]
	for range n {
		if random.Float64() < share {
			throttled++
		} else {
			accepted++
		}
	}
	return after, accepted, throttled, random.IntN(8) == 0
}

// The same answers at the same instants give the same rate in Go and in Lua.
func TestGoAndLuaAgree(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	script := redis.NewScript(adaptAt)
	met := map[string]bool{}
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 7))
		ceiling := []float64{68.4, 902.5, 12.6, 0.5}[seed%4]
		key := fmt.Sprint("{n:", seed, "}:cubic")
		h, now, mood, last := &feedback{}, time.Duration(1763694000_123456)*time.Microsecond, 0, int64(0)
		for i := range 600 {
			if random.IntN(25) == 0 {
				mood = random.IntN(5)
			}
			if random.IntN(200) == 0 {
				ceiling *= 0.5 + random.Float64()
			}
			after, accepted, throttled, late := moment(random, mood)
			now += after
			a := answers{stage: float64(last), accepted: accepted, throttled: throttled, lateAccepted: float64(random.IntN(2))}
			if late {
				a.stage--
			}
			h.answers = a
			part, stage := h.adapt(now-time.Microsecond, ceiling) // Local's clock begins at 1
			got, err := script.Run(t.Context(), client, []string{key}, now.Microseconds(), strconv.FormatFloat(ceiling, 'g', -1, 64),
				int64(a.stage), a.accepted, a.throttled, a.lateAccepted, a.lateThrottled, 1).StringSlice()
			if err != nil {
				t.Fatal(err)
			}
			lua, err := strconv.ParseFloat(got[0], 64)
			if err != nil || math.Abs(lua-part) > 1e-9*part || got[1] != fmt.Sprint(stage) {
				t.Fatalf("seed %d, call %d: Lua says %v, stage %v; want %v, %v as in Go", seed, i, lua, got[1], part, stage)
			}
			last = stage
			if c := h.cubic; c != nil {
				met["probing"] = met["probing"] || c.probing
				met["cooldown"] = met["cooldown"] || !c.cooled
				met["noise"] = met["noise"] || c.noise(ceiling)
				met["grown"] = met["grown"] || c.part > c.base && c.part < 1
			}
		}
	}
	for _, state := range []string{"probing", "cooldown", "noise", "grown"} {
		if !met[state] {
			t.Errorf("the sequences met %v, want also %q", met, state)
		}
	}
}

// A state that is lost goes on where the caller was, and expires after ten idle minutes.
func TestLuaGoesOnWhereTheCallerWas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	for seen, want := range map[string]string{"1": "1", "0.5": "0.5", "0.001": "0.02"} {
		got, err := redis.NewScript(adaptAt).Run(t.Context(), client, []string{"lost" + seen}, 5e15, 80, 0, 3, 0, 0, 0, seen).StringSlice()
		if part, _ := strconv.ParseFloat(got[0], 64); err != nil || fmt.Sprint(part) != want {
			t.Errorf("seen at %s: goes on at %v, %v; want %s", seen, got, err, want)
		}
		if ttl := client.PTTL(t.Context(), "lost"+seen).Val(); (seen == "1") != (ttl < 0) || seen != "1" && ttl < forgetRateAfter-time.Minute {
			t.Errorf("seen at %s: the state expires in %v, want in 10m, and no state at full rate", seen, ttl)
		}
	}
}

// Whatever the service answers, the multiplier stays between its floor and 1, or sends probes.
func TestMultiplierStaysInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ceiling := rapid.Float64Range(0.01, 5000).Draw(t, "ceiling")
		c, now := newCubic(1, rapid.Float64Range(0, 1).Draw(t, "seen")), 1.0
		for range rapid.IntRange(1, 200).Draw(t, "calls") {
			now += float64(rapid.IntRange(0, 3_000_000).Draw(t, "after"))
			count := func(name string) float64 { return float64(rapid.IntRange(0, 50).Draw(t, name)) }
			a := answers{stage: c.stage, accepted: count("accepted"), throttled: count("throttled"), lateAccepted: count("late accepted"),
				lateThrottled: count("late throttled")}
			if rapid.Bool().Draw(t, "old") {
				a.stage--
			}
			c.observe(now, ceiling, a)
			least := multiplierFloor
			if c.probing {
				least = math.Min(1, probeRate/ceiling)
			}
			if got := c.multiplier(ceiling); !(got >= least && got <= 1) {
				t.Fatalf("the multiplier is %v, want %v to 1: %+v", got, least, c)
			}
		}
	})
}
