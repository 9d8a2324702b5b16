package sender_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/throttle/throughput"
)

// foreseen is one scenario of TestForecastAgainstTheTruth: what a forecast is asked for, and what
// the service and the people then do.
type foreseen struct {
	seed    uint64
	begins  time.Duration // after the beginning of the clock of a bubble, the year 2000
	numbers []foreseenNumber
	runs    []foreseenRun
	// The service does these by chance. A forecast sees only how often they came in an earlier run.
	refused   float64 // part of the answers
	stops     float64 // part of the people who opt out during the run
	bursts    float64 // of throttling, per hour
	burstFor  time.Duration
	throttled float64       // part of the answers in a burst
	latency   time.Duration // median
	limits    foreseenLimits
	// The course as it is observed: raised limits begin at an hour.
	raise raised
}

// raised is a limit that is a tenth higher from a time on; "": none is.
type raised struct {
	limit campaign.LimitedBy
	from  time.Time
}

type foreseenNumber struct {
	id      string
	limit   float64 // messages per second, both ways
	inbound float64 // mean part of it
}

type foreseenRun struct {
	name    string
	numbers []string
	rows    int
	rate    float64
	window  string // of the campaign file
	zones   []string
	// Its place among others: weight 0 counts as 1, and deadline 0 is none.
	utility  bool
	weight   int
	deadline time.Duration
}

// foresee draws a scenario.
func foresee(seed uint64) *foreseen {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a draw, no secret
	between := func(a, b float64) float64 { return a + (b-a)*r.Float64() }
	f := &foreseen{
		seed: seed, begins: time.Duration(r.IntN(24*60)) * time.Minute, refused: between(0.02, 0.10), stops: between(0, 0.06),
		bursts: between(0.5, 3), burstFor: time.Duration(between(1, 3) * float64(time.Minute)), throttled: between(0.05, 0.4),
		latency: time.Duration(between(0.2, 2) * float64(time.Second)),
	}
	// A limit of a run has 1 s of tolerance: it is tried where slots are closer than that.
	own := r.IntN(4) == 0
	numbers, runs := 1+r.IntN(2), 1+r.IntN(3)
	for i := range numbers {
		n := foreseenNumber{fmt.Sprintf("conn_%d", i+1), between(0.06, 0.3), between(0.01, 0.15)}
		if own {
			n.limit *= 25
		}
		f.numbers = append(f.numbers, n)
	}
	for i := range runs {
		n := f.numbers[0]
		if i > 0 {
			n = f.numbers[r.IntN(numbers)]
		}
		one := foreseenRun{name: fmt.Sprintf("run%d", i), numbers: []string{n.id}}
		perHour := n.limit * 3600 / float64(runs)
		if own {
			one.rate = between(0.08, 0.4)
			perHour = one.rate * 3600
		}
		one.rows = min(int(perHour*between(1.5, 5)), 2500)
		if r.IntN(5) < 2 {
			from := r.IntN(24)
			one.window = fmt.Sprintf("hours: \"%02d:00-%02d:30\"", from, (from+6+r.IntN(10))%24)
			if r.IntN(2) == 0 {
				one.zones = [][]string{{"Africa/Lagos", "Europe/Berlin"}, {"America/New_York", "America/Los_Angeles"}, {"Asia/Kolkata"}}[r.IntN(3)]
				one.window += ", timezone: recipient"
			}
		}
		f.runs = append(f.runs, one)
	}
	f.limit()
	return f
}

// yesterday is an earlier run over the same numbers, without windows and limits of its own: what a
// forecast knows of the service.
func (f *foreseen) yesterday() *foreseen {
	y := *f
	y.seed, y.begins, y.raise, y.limits = f.seed^0x5eed, 0, raised{}, foreseenLimits{}
	y.runs = nil
	for i, r := range f.runs {
		n := f.numbers[slices.IndexFunc(f.numbers, func(n foreseenNumber) bool { return n.id == r.numbers[0] })]
		past := foreseenRun{name: fmt.Sprintf("past%d", i), numbers: r.numbers, rate: r.rate, utility: f.runs[0].utility}
		if past.rows = int(n.limit * 3600 * 3); r.rate > 0 {
			past.rows = int(r.rate * 3600 * 3)
		}
		if i == 0 || f.runs[0].rate == 0 && r.numbers[0] != f.runs[0].numbers[0] && len(y.runs) == 1 {
			y.runs = append(y.runs, past)
		}
	}
	return &y
}

// chance draws a number between 0 and 1 from what it is about.
func (f *foreseen) chance(about string, k ...uint64) float64 {
	h := mix(f.seed) ^ hash(about)
	for _, a := range k {
		h = mix(h ^ a)
	}
	return float64(mix(h)>>11) / (1 << 53)
}

// normal draws from the normal distribution.
func (f *foreseen) normal(about string, k ...uint64) float64 {
	u, v := f.chance(about+" u", k...), f.chance(about+" v", k...)
	return math.Sqrt(-2*math.Log(max(u, 1e-12))) * math.Cos(2*math.Pi*v)
}

// higher is what a limit is multiplied by at a time.
func (f *foreseen) higher(limit campaign.LimitedBy, at time.Time) float64 {
	if f.raise.limit == limit && !at.Before(f.raise.from) {
		return 1.1
	}
	return 1
}

// pace is the rate that a number reaches at a time. Messages that come in count, too: above the
// reserve, the service's throttling makes room for them.
func (f *foreseen) pace(n foreseenNumber, at time.Time) float64 {
	slot := uint64(at.Unix() / 600) //nolint:gosec // after 1970
	inbound := n.limit * n.inbound * math.Exp(0.35*f.normal("inbound "+n.id, slot))
	p := throughput.Number{Limit: n.limit}.Pace()
	return p.Factor * (p.Limit - max(p.Reserve, inbound)) * f.higher("throughput", at)
}

// throttles reports whether the service answers a post with throttling.
func (f *foreseen) throttles(connection, to string, nth int, at time.Time) bool {
	slot := uint64(at.Unix()) / uint64(f.burstFor.Seconds()) //nolint:gosec // after 1970
	burst := f.chance("burst "+connection, slot) < f.bursts*f.burstFor.Hours()
	return burst && f.chance("throttled "+to, uint64(nth)) < f.throttled //nolint:gosec // counts from 0
}

// source is the campaign file of a run.
func (f *foreseen) source(r *foreseenRun) []byte {
	var b strings.Builder
	category := "MARKETING"
	if r.utility {
		category = "UTILITY"
	}
	fmt.Fprintf(&b, "name: %s\nconnections: [%s]\ntemplate: {name: %s, language: en_US, category: %s}\n",
		r.name, strings.Join(r.numbers, ", "), r.name, category)
	if len(r.zones) > 0 {
		b.WriteString("recipients: {columns: {timezone: tz}}\n")
	}
	b.WriteString(r.limitsText())
	if r.window != "" {
		fmt.Fprintf(&b, "window: {%s}\n", r.window)
	}
	return []byte(b.String())
}
