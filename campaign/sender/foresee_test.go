package sender_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/throttle/throughput"
)

var (
	forecastSeeds = flag.Int("forecasts", 1, "how many scenarios TestForecastAgainstTheTruth plays; the bounds are judged from 100 on")
	forecastFirst = flag.Uint64("forecast", 24, "the seed of the first scenario")
)

// finish is the last answer of a run, and hours how many messages had their last answer in each
// hour.
func (w *truth) finish(run string) (first, last time.Time, hours map[time.Time]int64) {
	hours = map[time.Time]int64{}
	for _, a := range w.answers {
		if a.run != run || a.kind == "throttled" {
			continue
		}
		if first.IsZero() {
			first = a.at.Add(-a.took)
		}
		last = a.at
		hours[a.at.UTC().Truncate(time.Hour)]++
	}
	return first, last, hours
}

// observed are the averages of an earlier run. Deviations are those between parts of it.
func (w *truth) observed() plan.Past {
	const parts = 8
	var took, all, last float64
	count := map[string]float64{}
	posts := map[string][]answered{}
	for _, a := range w.answers {
		count[a.kind]++
		all++
		if a.run == w.f.runs[0].name && a.kind != "throttled" {
			last++
		}
		took += a.took.Seconds()
		a.at = a.at.Add(-a.took)
		posts[a.connection] = append(posts[a.connection], a)
	}
	var slowed, throttled []float64
	hours := 0.0
	for _, n := range w.f.numbers {
		of := posts[n.id]
		if len(of) == 0 {
			continue
		}
		slices.SortFunc(of, func(a, b answered) int { return a.at.Compare(b.at) })
		pace := throughput.Number{Limit: n.limit}.Pace().Rate
		if own := w.f.runs[0].rate; own > 0 { // how much the number is slowed is not to be seen
			pace = own
		}
		hours += of[len(of)-1].at.Sub(of[0].at).Hours()
		for k := range parts {
			part := of[k*(len(of)-1)/parts : (k+1)*(len(of)-1)/parts+1] // the last is the first of the next
			slowed = append(slowed, 1-float64(len(part)-1)/part[len(part)-1].at.Sub(part[0].at).Seconds()/pace)
			refused := 0.0
			for _, a := range part[1:] {
				if a.kind == "throttled" {
					refused++
				}
			}
			throttled = append(throttled, refused/float64(len(part)-1))
		}
	}
	dropped := max(0, 1-last/float64(w.f.runs[0].rows)) // of the run that has ended
	share := count["refused"] / all
	return plan.Past{
		Refused: plan.Average{Mean: share, Deviation: math.Sqrt(share * (1 - share) / all)},
		Slowed:  average(slowed, hours), Throttled: average(throttled, hours), Latency: plan.Average{Mean: took / all},
		Dropped: plan.AverageOf([]float64{dropped}),
	}
}

// average is that of parts of so many hours together.
func average(parts []float64, hours float64) plan.Average {
	a := plan.Average{Hours: hours}
	for _, v := range parts {
		a.Mean += v / float64(len(parts))
	}
	a.Deviation = deviation(parts) * math.Sqrt(hours/float64(len(parts)))
	return a
}

func deviation(x []float64) float64 {
	var mean, sum float64
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// verdict is what one scenario says of the forecast.
type verdict struct {
	seed          uint64
	off           float64 // of the finish, as part of the time that the run took
	inside        bool    // the finish is in the band
	judged, right int     // hours
	wrong         []string
	told          string
}

// TestForecastAgainstTheTruth forecasts random scenarios from what an earlier run was like, and
// then sends them with the real sender, under virtual time. `make forecast` plays 200.
func TestForecastAgainstTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("a scenario takes some seconds")
	}
	var mu sync.Mutex
	var all []verdict
	t.Run("seeds", func(t *testing.T) {
		for i := range *forecastSeeds {
			seed := *forecastFirst + uint64(i) //nolint:gosec // few
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				v := judge(t, seed)
				t.Log(v.told)
				mu.Lock()
				all = append(all, v)
				mu.Unlock()
			})
		}
	})
	if t.Failed() || len(all) == 0 {
		return
	}
	var off []float64
	inside, judged, right := 0, 0, 0
	for _, v := range all {
		off = append(off, math.Abs(v.off))
		judged += v.judged
		right += v.right
		if v.inside {
			inside++
		}
	}
	slices.Sort(off)
	median, p95 := off[len(off)/2], off[min(len(off)-1, len(off)*95/100)]
	t.Logf("%d scenarios: finish off by %.2f %% (median), %.2f %% (95th percentile); %.1f %% inside the band; "+
		"limit right in %d of %d hours (%.1f %%)",
		len(all), 100*median, 100*p95, 100*float64(inside)/float64(len(all)), right, judged, 100*float64(right)/float64(max(judged, 1)))
	if len(all) >= 20 && median > 0.03 || p95 > 0.10 {
		t.Errorf("the finish is off by %.2f %% (median) and %.2f %% (95th percentile), want at most 3 and 10", 100*median, 100*p95)
	}
	if len(all) < 100 {
		return
	}
	if part := float64(inside) / float64(len(all)); part < 0.75 || part > 0.90 {
		t.Errorf("the finish is inside the band in %.1f %% of the scenarios, want 75 to 90", 100*part)
	}
	if float64(right) < 0.95*float64(judged) {
		t.Errorf("the binding limit is right in %d of %d hours, want 95 %%", right, judged)
	}
}

// judge plays one scenario.
func judge(t *testing.T, seed uint64) verdict {
	f := foresee(seed)
	past := f.yesterday().play(t, nil, time.Time{}).observed()
	base := f.play(t, &past, time.Time{})
	first, last, hours := base.finish(f.runs[0].name)
	got := base.forecast
	v := verdict{seed: seed}
	v.off = got.Finish.Sub(last).Seconds() / last.Sub(base.began).Seconds()
	v.inside = !last.Before(got.Low) && !last.After(got.High)
	for _, h := range pick(f, got, last) {
		v.judged++
		counted := hours[h.Start]
		if h.LimitedBy == campaign.ByWindow || h.LimitedBy == campaign.ByHold {
			if counted <= 1 {
				v.right++
			} else {
				v.wrong = append(v.wrong, fmt.Sprintf("%s %s: %d", h.Start.Format("15:04"), h.LimitedBy, counted))
			}
			continue
		}
		other := *f
		other.raise = raised{h.LimitedBy, h.Start}
		_, _, more := other.play(t, nil, h.Start.Add(time.Hour)).finish(f.runs[0].name)
		if more[h.Start] > counted {
			v.right++
		} else {
			v.wrong = append(v.wrong, fmt.Sprintf("%s %s: %d, then %d", h.Start.Format("15:04"), h.LimitedBy, counted, more[h.Start]))
		}
	}
	v.told = fmt.Sprintf("seed %d: %d runs, %d rows, began %s, took %v, off by %+.2f %%, band %v..%v, inside %v, "+
		"%s, judged %d, wrong %v; %.3v %s", seed, len(f.runs), f.runs[0].rows,
		base.began.Format("15:04"), last.Sub(first).Round(time.Second), 100*v.off,
		got.Low.Sub(last).Round(time.Second), got.High.Sub(last).Round(time.Second),
		v.inside, got.LimitedBy, v.judged, v.wrong, past, f)
	return v
}

// pick chooses an hour of a forecast to judge. The first and the last hour of the truth are
// not judged: in the last one nothing is left that a higher limit could send.
func pick(f *foreseen, got plan.Forecast, last time.Time) (out []plan.Hour) {
	var whole []plan.Hour
	for i, h := range got.Hours {
		if i > 0 && h.Start.Add(time.Hour).Before(last.Truncate(time.Hour)) {
			whole = append(whole, h)
		}
	}
	for k := range min(1, len(whole)) {
		out = append(out, whole[int(f.chance("judged hour", uint64(k))*float64(len(whole)))]) //nolint:gosec // from 0
	}
	return out
}

// String is what a person compares between scenarios.
func (f *foreseen) String() string {
	var b strings.Builder
	for _, n := range f.numbers {
		fmt.Fprintf(&b, "%s %.3f/s inbound %.2f; ", n.id, n.limit, n.inbound)
	}
	for _, r := range f.runs {
		fmt.Fprintf(&b, "%s %d rows over %v %swindow %s %v utility %v; ", r.name, r.rows, r.numbers, r.limitsText(), r.window, r.zones, r.utility)
	}
	fmt.Fprintf(&b, "tier %d, allowance %d, ramps %v; ", f.limits.tier, f.limits.allowance.Messages, f.limits.ramps)
	fmt.Fprintf(&b, "refused %.3f, stops %.3f, bursts %.1f/h of %v with %.2f",
		f.refused, f.stops, f.bursts, f.burstFor.Round(time.Second), f.throttled)
	return b.String()
}
