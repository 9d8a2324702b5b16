package ledger

import (
	"maps"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
)

// Course is what happened to the rows of a segment in time, and where.
type Course struct {
	Step      int64                    // minutes between the points of Series
	Series    [][1 + CourseLines]int64 // the minute, counted from 1970, and what happened in Step from then on
	Latency   [][2]int64               // the bucket, and how many messages it has
	Countries []campaign.CountryCount
}

// The lines of Course.Series.
const (
	CourseAccepted = iota
	CourseDelivered
	CourseRead
	CourseFailed
	CourseLines
)

// courseSteps are the steps of a series in minutes. A longer one is taken when a series has more
// points than it may have; the last is never left.
var courseSteps = [...]int64{1, 5, 15, 60, 360, 1440}

// The most points of a series, of a segment and of a run. A point of a segment takes some 20 bytes;
// 4,096 messages with their statuses seldom need more than 300 points of one minute.
const (
	segmentPoints = 512
	runPoints     = 4096
)

// latencyScale is the number of buckets in which a latency grows e-fold: e^(1/10.5) is 1.0999. The
// longest latency, of 2^63 ms, has bucket 458.
const (
	latencyScale   = 10.5
	latencyBuckets = 459
)

// bucketOf returns the bucket of a latency in milliseconds.
func bucketOf(ms int64) int64 { return int64(math.Log(float64(max(ms, 1))) * latencyScale) }

// bucketStart is where a bucket of latencies begins. The first one holds less than 1.1 ms.
func bucketStart(i int64) time.Duration {
	if i <= 0 {
		return 0
	}
	return time.Duration(math.Exp(float64(i)/latencyScale) * float64(time.Millisecond))
}

// seriesCount counts the events of each line in a minute.
type seriesCount struct {
	minute int64
	n      [CourseLines]int64
}

// courseSum adds up courses.
type courseSum struct {
	step, most int64
	series     map[int64]*seriesCount
	latest     [CourseLines]*seriesCount // where each line was counted last: most events of a line follow each other
	latency    map[int64]int64
	countries  map[string]campaign.CountryCount
}

func newCourseSum(most int64) *courseSum {
	return &courseSum{step: courseSteps[0], most: most, series: map[int64]*seriesCount{}, latency: map[int64]int64{},
		countries: map[string]campaign.CountryCount{}}
}

// count adds n events of a line in a minute.
func (s *courseSum) count(line int, minute, n int64) {
	minute -= minute % s.step
	p := s.latest[line]
	if p == nil || p.minute != minute {
		if p = s.series[minute]; p == nil {
			p = &seriesCount{minute: minute}
			s.series[minute] = p
		}
		s.latest[line] = p
	}
	p.n[line] += n
	for int64(len(s.series)) > s.most && s.step < courseSteps[len(courseSteps)-1] {
		s.lengthen(courseSteps[slices.Index(courseSteps[:], s.step)+1])
	}
}

// lengthen makes the step of the series at least this long.
func (s *courseSum) lengthen(step int64) {
	if step <= s.step {
		return
	}
	old := s.series
	s.step, s.series, s.latest = step, make(map[int64]*seriesCount, len(old)/2), [CourseLines]*seriesCount{}
	for minute, p := range old {
		for line, n := range p.n {
			if n != 0 {
				s.count(line, minute, n)
			}
		}
	}
}

// add adds the course of a segment.
func (s *courseSum) add(c *Course) {
	s.lengthen(c.Step)
	for _, p := range c.Series {
		for line, n := range p[1:] {
			if n != 0 {
				s.count(line, p[0], n)
			}
		}
	}
	for _, b := range c.Latency {
		s.latency[b[0]] += b[1]
	}
	for _, n := range c.Countries {
		s.countries[n.Country] = plusCountry(s.countries[n.Country], n)
	}
}

// course returns the sum as a segment's is stored.
func (s *courseSum) course() Course {
	c := Course{Step: s.step, Countries: byRows(s.countries)}
	for _, minute := range slices.Sorted(maps.Keys(s.series)) {
		p := s.series[minute].n
		c.Series = append(c.Series, [...]int64{minute, p[CourseAccepted], p[CourseDelivered], p[CourseRead], p[CourseFailed]})
	}
	for _, i := range slices.Sorted(maps.Keys(s.latency)) {
		c.Latency = append(c.Latency, [2]int64{i, s.latency[i]})
	}
	return c
}

// summary returns the sum as a report tells it.
func (s *courseSum) summary() campaign.Summary {
	c := s.course()
	sum := campaign.Summary{Step: time.Duration(c.Step) * time.Minute, Countries: c.Countries}
	for _, p := range c.Series {
		sum.Series = append(sum.Series, campaign.SeriesPoint{At: time.Unix(60*p[0], 0).UTC(), Accepted: p[1+CourseAccepted],
			Delivered: p[1+CourseDelivered], Read: p[1+CourseRead], Failed: p[1+CourseFailed]})
	}
	for _, b := range c.Latency {
		sum.Latency = append(sum.Latency, campaign.LatencyBucket{From: bucketStart(b[0]), To: bucketStart(b[0] + 1), N: b[1]})
	}
	return sum
}
