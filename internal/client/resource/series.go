package resource

import (
	"time"

	"campaignd/campaign"
)

// Series is what became of a run in time, by number and by country.
type Series struct {
	Run         string             `json:"run"`
	At          time.Time          `json:"at"`           // when it was counted
	StepSeconds int64              `json:"step_seconds"` // between the points; longer than asked for where a run lasts for days
	Points      []SeriesPoint      `json:"points"`       // oldest first; points at which nothing happened are left out
	Connections []ConnectionTotals `json:"connections"`
	Countries   []CountryTotals    `json:"countries"` // most rows first
	Delivery    DeliveryTimes      `json:"delivery"`
}

// SeriesPoint counts what happened in one step that begins at At. Delivered counts the statuses
// that came: a message of which only the status read came is in the funnel of the report and in the
// countries as delivered, and here as read alone.
type SeriesPoint struct {
	At        time.Time `json:"at"`
	Accepted  int64     `json:"accepted"`
	Delivered int64     `json:"delivered" doc:"statuses that came; a message of which only read came is not in it"`
	Read      int64     `json:"read"`
	Failed    int64     `json:"failed"`
}

// ConnectionTotals counts the rows of one number by status.
type ConnectionTotals struct {
	Connection string                    `json:"connection"` // empty: rows that no number has begun
	Totals     map[campaign.Status]int64 `json:"totals"`
}

// CountryTotals counts the rows of one country. A message that was read counts as delivered and
// accepted too.
type CountryTotals struct {
	Country   string `json:"country"` // ISO 3166; empty: the number has none
	Rows      int64  `json:"rows"`
	Skipped   int64  `json:"skipped"`
	Refused   int64  `json:"refused"`
	Accepted  int64  `json:"accepted"`
	Delivered int64  `json:"delivered"`
	Read      int64  `json:"read"`
	Failed    int64  `json:"failed"`
}

// DeliveryTimes is how long it took from the acceptance of messages to their delivery, in
// milliseconds, within 10 %.
type DeliveryTimes struct {
	P50     int64           `json:"p50_ms"`
	P90     int64           `json:"p90_ms"`
	P99     int64           `json:"p99_ms"`
	Buckets []LatencyBucket `json:"buckets"`
}

// LatencyBucket counts the messages that took at least From and less than To.
type LatencyBucket struct {
	From int64 `json:"from_ms"`
	To   int64 `json:"to_ms"`
	N    int64 `json:"n"`
}

// SeriesOf is a summary in steps of at least step.
func SeriesOf(run string, s *campaign.Summary, step time.Duration) Series {
	all := Series{Run: run, At: s.At, StepSeconds: int64(max(step, s.Step) / time.Second), Points: []SeriesPoint{},
		Connections: []ConnectionTotals{}, Countries: []CountryTotals{}, Delivery: DeliveryTimes{
			P50: s.Percentile(0.5).Milliseconds(), P90: s.Percentile(0.9).Milliseconds(), P99: s.Percentile(0.99).Milliseconds(),
			Buckets: []LatencyBucket{},
		}}
	for _, p := range s.Coarser(step) {
		all.Points = append(all.Points, SeriesPoint(p))
	}
	for _, c := range s.Connections {
		totals := map[campaign.Status]int64{}
		for _, t := range c.Tallies {
			totals[t.Status] += t.N
		}
		all.Connections = append(all.Connections, ConnectionTotals{c.Connection, totals})
	}
	for _, c := range s.Countries {
		all.Countries = append(all.Countries, CountryTotals(c))
	}
	for _, b := range s.Latency {
		all.Delivery.Buckets = append(all.Delivery.Buckets, LatencyBucket{b.From.Milliseconds(), b.To.Milliseconds(), b.N})
	}
	return all
}
