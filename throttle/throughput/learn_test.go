package throughput_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"campaignd/throttle/throughput"
)

const ms = time.Millisecond

// learned is what was measured on a way that is uneven by so much in both directions.
func learned(spread time.Duration, outside, inbound int) throughput.Measured {
	w := throughput.Way{Soonest: ms, Latest: ms + spread, Quick: 100 * ms, Slow: 100*ms + 2*spread}
	m := throughput.Measured{Messages: 10_000, Usual: w, Whole: w, Inbound: inbound, Quiet: inbound, Heard: true}
	m.Usual.Outside = outside
	m.Whole.Latest += time.Second // a stall
	return m
}

// The sums of docs/limits.md#a-pace-that-learns.
func TestALearnedPaceIsItsSum(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	refused := learned(0, 0, 0)
	refused.Refused = now.Add(-9 * time.Minute)
	forgiven := learned(0, 0, 0)
	forgiven.Refused = now.Add(-10 * time.Minute)
	lost, counted := learned(0, 0, 30), learned(0, 0, 0)
	lost.Lost, counted.Lost = now.Add(-9*time.Minute), now.Add(-10*time.Minute)
	varied, rare := learned(5*ms, 0, 30), learned(5*ms, 0, 30)
	varied.Quiet, rare.Quiet = 24, 0
	young, deaf := learned(0, 0, 0), learned(0, 0, 0)
	young.Messages, deaf.Heard = 1999, false
	for _, c := range []struct {
		name   string
		number throughput.Number
		m      throughput.Measured
		rate   float64
		late   time.Duration
		why    string
	}{
		{"an even way of 20/s", throughput.Number{Limit: 20}, learned(0, 0, 0), 19, ms, "uneven by 0 ms"},
		{"5 ms each way", throughput.Number{Limit: 20}, learned(5*ms, 0, 0), 19 / 1.01, 6 * ms, "uneven by 10 ms"},
		{"two slots at one instant", throughput.Number{}, learned(0, 0, 0), 79 / 1.015, 16 * ms, "uneven by 15 ms"},
		{"5 ms of 80/s", throughput.Number{}, learned(5*ms, 0, 0), 79 / 1.020, 16 * ms, ""},
		{"an outlier", throughput.Number{}, learned(5*ms, 1, 0), 78 / 1.020, 16 * ms, ""},
		{"inbound", throughput.Number{}, learned(5*ms, 0, 9), 70 / 1.020, 16 * ms, ""},
		{"1,000/s", throughput.Number{Level: "HIGH"}, learned(0, 0, 0), 999 / 1.015, 16 * ms, ""},
		{"minutes that differ", throughput.Number{}, varied, 44 / 1.010, 6 * ms, ""},
		{"one minute with messages", throughput.Number{}, rare, 44 / 1.010, 6 * ms, ""},
		{"the most of a limit", throughput.Number{Limit: 20_000}, learned(0, 0, 0), 19_700, 16177665, ""},
		{"a way of seconds", throughput.Number{}, learned(time.Second, 0, 0), 68.4, 35 * ms, ""},
		{"and much inbound", throughput.Number{}, learned(time.Second, 0, 19), 54, 35 * ms, ""},
		{"more inbound than the limit", throughput.Number{}, learned(0, 0, 90), 8, 35 * ms, ""},
		{"a slow number", throughput.Number{Limit: 1}, learned(0, 0, 5), 0.1, 35 * ms, ""},
		{"a phone's", throughput.Number{Coexistence: true}, learned(0, 0, 9), 12.6, 35 * ms, "on a phone"},
		{"few messages", throughput.Number{}, young, 68.4, 35 * ms, "1999 of 2000 messages"},
		{"no events", throughput.Number{}, deaf, 68.4, 35 * ms, "no event of this number"},
		{"refused 9 minutes ago", throughput.Number{}, refused, 68.4, 35 * ms, "until 12:01:00 UTC"},
		{"lost 9 minutes ago", throughput.Number{}, lost, 0.9 * (80 - 31), 35 * ms,
			"before 11:51:00 UTC was lost with the memory of Redis; until 12:01:00 UTC"},
		{"lost 10 minutes ago", throughput.Number{}, counted, 79 / 1.015, 16 * ms, ""},
		{"refused 10 minutes ago", throughput.Number{}, forgiven, 79 / 1.015, 16 * ms, ""},
	} {
		l := c.number.Pace().Learn(c.m, now)
		if math.Abs(l.Rate-c.rate) > 1e-6*c.rate || (l.Late-c.late).Abs() > time.Microsecond || !strings.Contains(l.Why, c.why) {
			t.Errorf("%s: %v/s, slots up to %v, %q; want %v/s, %v, %q", c.name, l.Rate, l.Late, l.Why, c.rate, c.late, c.why)
		}
		limit := c.number.Pace().Limit
		if sum := l.Rate + l.Inbound + l.Jitter + l.Outliers + l.Rest; l.Rest > 0 && math.Abs(sum-limit) > 1e-6*limit {
			t.Errorf("%s: pace and parts are %v/s, want the limit, %v: %+v", c.name, sum, limit, l)
		}
	}
}

// However the messages of the measured way lie within its bounds, no sliding second has more than
// the limit, with the inbound messages of its worst second.
func TestNoWayWithinItsBoundsIsOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(5, 300).Draw(t, "limit")
		soonest := time.Duration(rapid.Int64Range(0, 5000).Draw(t, "soonest")) * time.Microsecond
		spread := time.Duration(rapid.Int64Range(0, 120_000).Draw(t, "spread")) * time.Microsecond
		answers := time.Duration(rapid.Int64Range(0, 200_000).Draw(t, "answers")) * time.Microsecond
		m := throughput.Measured{Messages: 5000, Inbound: rapid.IntRange(0, int(limit/3)).Draw(t, "inbound"), Heard: true}
		m.Quiet = m.Inbound
		m.Usual = throughput.Way{Soonest: soonest, Latest: soonest + spread, Slow: answers}
		m.Whole = m.Usual
		p := throughput.Number{Limit: limit}.Pace()
		l := p.Learn(m, time.Unix(0, 0))
		if first := p.Learn(throughput.Measured{Inbound: m.Inbound, Quiet: m.Quiet, Heard: true}, time.Unix(0, 0)); l.Rate <= first.Rate {
			return // the way is too uneven for more than the first pace
		}
		var arrivals []float64
		for i := range int(3 * l.Rate) {
			early := rapid.Bool().Draw(t, "early")
			at := float64(i) / l.Rate
			if !early {
				at += math.Max(l.Late.Seconds()-soonest.Seconds(), spread.Seconds()) + answers.Seconds()/2
			}
			arrivals = append(arrivals, at)
		}
		slices.Sort(arrivals)
		for i, at := range arrivals {
			end, _ := slices.BinarySearch(arrivals, at+1)
			if n := end - i + m.Inbound; float64(n) > limit {
				t.Fatalf("%d messages in the second from %v, want at most %v: %+v", n, at, limit, l)
			}
		}
	})
}

func TestWhatProcessesMeasuredIsAdded(t *testing.T) {
	a, b := learned(5*ms, 2, 3), learned(20*ms, 1, 2)
	b.Refused, b.Heard = time.Unix(100, 0), false
	got := a.Merge(b)
	want := b
	want.Messages, want.Usual.Outside, want.Inbound, want.Quiet, want.Heard = 20_000, 3, 3, 3, true
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (throughput.Measured{Inbound: 3, Quiet: 3, Heard: true}).Merge(a); got != a {
		t.Errorf("with nothing: got %+v, want %+v", got, a)
	}
	if got := a.Merge(throughput.Measured{}); got != a {
		t.Errorf("nothing with it: got %+v, want %+v", got, a)
	}
}

// A sender reports the sum with words of its own, and a forecast reads it.
func TestASumIsTold(t *testing.T) {
	l := throughput.Number{}.Pace().Learn(learned(5*ms, 1, 0), time.Unix(0, 0))
	want := "76.47 of 80 messages per second; kept back for inbound 1, jitter 1.53, outliers 1, the rest 0: " +
		"the last messages were uneven by 20 ms"
	rate, sum, ok := throughput.Told("it sends at its pace; " + l.String())
	if !ok || rate != 76.47 || sum != want {
		t.Errorf("%v, %q, %v; want 76.47, %q", rate, sum, ok, want)
	}
	for _, text := range []string{"", "2 runs share this number", "its number may send ", "its number may send 0 of 80"} {
		if rate, _, ok := throughput.Told(text); ok {
			t.Errorf("%q tells %v/s, want nothing", text, rate)
		}
	}
}
