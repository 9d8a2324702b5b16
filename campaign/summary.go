package campaign

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Summary counts what became of the rows of a run. It names nobody, and it stays when retention
// deletes the rows.
type Summary struct {
	At          time.Time // when it was counted
	Connections []ConnectionCount
	// Countries has the most rows first. Rows of segments that retention deleted before summaries
	// were kept are in no country, no point of Series and no bucket of Latency.
	Countries []CountryCount
	Step      time.Duration   // between the points of Series
	Series    []SeriesPoint   // oldest first; points at which nothing happened are left out
	Latency   []LatencyBucket // from acceptance to delivery; the shortest first, without empty buckets
}

// ConnectionCount counts the rows that one connection sent, or has begun to send.
type ConnectionCount struct {
	Connection string // "": rows that no connection has begun
	Tallies    []Tally
	Funnel     Funnel
}

// CountryCount counts the rows of one country. As in a Funnel, a message that was read counts as
// delivered and accepted too.
type CountryCount struct {
	Country   string // ISO 3166; "": the number has none
	Rows      int64
	Skipped   int64
	Refused   int64
	Accepted  int64
	Delivered int64
	Read      int64
	Failed    int64
}

// SeriesPoint counts what happened in one step of time that begins at At.
type SeriesPoint struct {
	At        time.Time
	Accepted  int64
	Delivered int64
	Read      int64
	Failed    int64
}

// LatencyBucket counts the messages that were delivered at least From and less than To after their
// acceptance. To is at most 1.1 times From, except of the first bucket.
type LatencyBucket struct {
	From time.Duration
	To   time.Duration
	N    int64
}

// Tallies returns the tallies and the funnel of all connections together, in the order of
// ReportLedger.Tallies.
func (s *Summary) Tallies() ([]Tally, Funnel) {
	var all []Tally
	var funnel Funnel
	for _, c := range s.Connections {
		all = append(all, c.Tallies...)
		funnel = funnel.Plus(c.Funnel)
	}
	return SumTallies(all), funnel
}

// Percentile returns the time in which the share p of the delivered messages was delivered; p is
// above 0 and at most 1. It is right within 10 %. Without a delivered message it is 0.
func (s *Summary) Percentile(p float64) time.Duration {
	var sum int64
	for _, b := range s.Latency {
		sum += b.N
	}
	rank := int64(math.Ceil(p * float64(sum)))
	for _, b := range s.Latency {
		if rank -= b.N; rank <= 0 {
			return time.Duration(math.Sqrt(float64(b.From) * float64(b.To)))
		}
	}
	return 0
}

// Coarser returns the series in longer steps, which begin at multiples of step since the zero time.
// A step that is not longer than Step changes nothing.
func (s *Summary) Coarser(step time.Duration) []SeriesPoint {
	if step <= s.Step {
		return s.Series
	}
	var all []SeriesPoint
	for _, p := range s.Series {
		p.At = p.At.Truncate(step)
		if n := len(all); n > 0 && all[n-1].At.Equal(p.At) {
			all[n-1] = all[n-1].plus(p)
		} else {
			all = append(all, p)
		}
	}
	return all
}

func (p SeriesPoint) plus(q SeriesPoint) SeriesPoint {
	return SeriesPoint{p.At, p.Accepted + q.Accepted, p.Delivered + q.Delivered, p.Read + q.Read, p.Failed + q.Failed}
}

// Plus is the sum of two funnels.
func (f Funnel) Plus(g Funnel) Funnel {
	return Funnel{
		f.Accepted + g.Accepted, f.Sent + g.Sent, f.Delivered + g.Delivered, f.Read + g.Read, f.Failed + g.Failed,
		f.Adopted + g.Adopted, f.MaybeDuplicate + g.MaybeDuplicate, f.Ambiguous + g.Ambiguous,
	}
}

// SumTallies adds up tallies of the same status and reason. It returns them in the order of
// Statuses, then by reason.
func SumTallies(all []Tally) []Tally {
	sums := map[Tally]int64{}
	for _, t := range all {
		sums[Tally{Status: t.Status, Reason: t.Reason}] += t.N
	}
	added := make([]Tally, 0, len(sums))
	for t, n := range sums {
		if n != 0 {
			added = append(added, Tally{t.Status, t.Reason, n})
		}
	}
	slices.SortFunc(added, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(slices.Index(Statuses, a.Status), slices.Index(Statuses, b.Status)), cmp.Compare(a.Reason, b.Reason))
	})
	return added
}
