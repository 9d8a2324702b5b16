package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// defaultDrift is how far a forecast is off although the averages are right: waits between polls,
// and segments whose ends do not meet.
const defaultDrift = 0.005

// draw is one possible course of what the past gives as averages.
type draw struct {
	refused, throttled, dropped float64
	slowed                      float64
	drift                       float64 // of all rates, as a logarithm
	latency                     float64 // seconds
}

// expected are the averages themselves.
func (p Past) expected() draw {
	return draw{refused: within(p.Refused.Mean), throttled: within(p.Throttled.Mean), dropped: within(p.Dropped.Mean),
		slowed: min(p.Slowed.Mean, 0.98), latency: max(p.Latency.Mean, 0)}
}

// within keeps a part between 0 and 0.98.
func within(part float64) float64 { return min(max(part, 0), 0.98) }

// drawn is one possible course for a run of so many rows and hours: an average differs between
// runs, and within a run by chance.
func (p Past) drawn(r *rand.Rand, rows, hours float64) draw {
	part := func(a Average, normal float64) float64 {
		if a.Once {
			return within(a.Mean * ratio(normal))
		}
		chance := 0.0
		if m := within(a.Mean); rows > 0 && a.Hours <= 0 { // else the hours differed by it too
			chance = m * (1 - m) / rows
		}
		return within(a.Mean + normal*math.Sqrt(a.of(hours)*a.of(hours)+chance))
	}
	busy := r.NormFloat64() // a run that is throttled more is slowed more
	d := draw{refused: part(p.Refused, r.NormFloat64()), throttled: part(p.Throttled, busy), dropped: part(p.Dropped, r.NormFloat64())}
	d.slowed = min(p.Slowed.Mean+busy*p.Slowed.of(hours), 0.98) // below 0: faster than expected
	d.latency = max(p.Latency.Mean+r.NormFloat64()*p.Latency.Deviation, 0)
	drift := p.Drift
	if drift <= 0 {
		drift = defaultDrift
	}
	d.drift = r.NormFloat64() * drift
	return d
}

// ratio is the next run's part, divided by the one part that was observed, for a normal draw. It
// assumes that the parts of runs are log-normal, with a deviation as large as their mean. The
// logarithm of a part then has the variance ln 2 (deviation^2 = mean^2 (e^variance - 1)), and that
// of the ratio of two parts 2 ln 2. In eight of ten cases the ratio lies between 1/4.5 and 4.5.
func ratio(normal float64) float64 { return math.Exp(normal * math.Sqrt(2*math.Ln2)) }

// The draws of a band, and how much work they may be together.
const (
	mostDraws  = 100
	leastDraws = 16
	drawBudget = 4_000_000 // visits of segments
)

// band is where the finish lies in eight of ten courses. Equal situations have equal bands.
func (s *Situation) band(edges []*calendar, run int, expected *course) (low, high time.Time) {
	blocks := 1
	for _, r := range s.Runs {
		blocks += len(r.Groups)
	}
	draws := min(max(drawBudget/(1+expected.steps*blocks), leastDraws), mostDraws)
	hours := (expected.end - expected.first - expected.waiting) / 3600
	ends := make([]float64, 0, draws)
	for k := range draws {
		r := rand.New(rand.NewPCG(0, uint64(k))) //nolint:gosec // a draw, no secret
		c := newCourse(s, edges, s.Past.drawn(r, expected.rows, hours), run)
		c.play()
		ends = append(ends, c.end+c.latency)
	}
	slices.Sort(ends)
	at := func(part float64) time.Time {
		end := ends[int(math.Round(part*float64(len(ends)-1)))]
		return instantAt(s.Now, min(end, farthest.Seconds()))
	}
	return at(0.10), at(0.90)
}
