package ledgertest

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/recipients"
)

// Recount counts the lines of a run, one after the other, as campaign.Summary counts its rows. Its
// series has steps of step. Two figures of the funnel are 0, because no line tells them:
// MaybeDuplicate and Ambiguous.
func Recount(ctx context.Context, l campaign.ReportLedger, no campaign.RunNo, step time.Duration) (sum campaign.Summary, err error) {
	where := recipients.NewCountries()
	connections, countries := map[string]*campaign.ConnectionCount{}, map[string]*campaign.CountryCount{}
	points, latency := map[time.Time]*campaign.SeriesPoint{}, map[int]int64{}
	for line, err := range l.Lines(ctx, no) {
		if err != nil {
			return sum, err
		}
		c := entry(connections, line.Connection)
		c.Connection = line.Connection
		c.Tallies = append(c.Tallies, campaign.Tally{Status: line.Status, Reason: reasonOf(&line), N: 1})
		country := ""
		if line.Key != 0 {
			country = where.Region(line.To)
		}
		n := entry(countries, country)
		n.Country = country
		n.Rows++
		switch line.Status {
		case campaign.Skipped:
			n.Skipped++
		case campaign.Refused:
			n.Refused++
		}
		if line.MessageID == "" {
			continue
		}
		f := stepsOf(&line)
		c.Funnel = c.Funnel.Plus(f)
		n.Accepted, n.Delivered, n.Read, n.Failed = n.Accepted+1, n.Delivered+f.Delivered, n.Read+f.Read, n.Failed+f.Failed
		for i, at := range []time.Time{line.AcceptedAt, line.DeliveredAt, line.ReadAt, line.FailedAt} {
			if !at.IsZero() {
				at = at.Truncate(step)
				p := entry(points, at)
				p.At = at
				*[]*int64{&p.Accepted, &p.Delivered, &p.Read, &p.Failed}[i]++
			}
		}
		if !line.DeliveredAt.IsZero() {
			latency[int(math.Log(float64(max(1, line.DeliveredAt.Sub(line.AcceptedAt).Milliseconds())))*10.5)]++
		}
	}
	sum.Step = step
	for _, c := range connections {
		c.Tallies = campaign.SumTallies(c.Tallies)
		sum.Connections = append(sum.Connections, *c)
	}
	for _, n := range countries {
		sum.Countries = append(sum.Countries, *n)
	}
	for _, p := range points {
		sum.Series = append(sum.Series, *p)
	}
	slices.SortFunc(sum.Connections, func(a, b campaign.ConnectionCount) int { return cmp.Compare(a.Connection, b.Connection) })
	slices.SortFunc(sum.Countries, func(a, b campaign.CountryCount) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Country, b.Country))
	})
	slices.SortFunc(sum.Series, func(a, b campaign.SeriesPoint) int { return a.At.Compare(b.At) })
	for _, i := range slices.Sorted(maps.Keys(latency)) {
		sum.Latency = append(sum.Latency, campaign.LatencyBucket{From: bucket(i), To: bucket(i + 1), N: latency[i]})
	}
	return sum, nil
}

func entry[K comparable, V any](all map[K]*V, key K) *V {
	if all[key] == nil {
		all[key] = new(V)
	}
	return all[key]
}

// bucket is where bucket i of the latencies begins.
func bucket(i int) time.Duration {
	if i <= 0 {
		return 0
	}
	return time.Duration(math.Exp(float64(i)/10.5) * float64(time.Millisecond))
}

// reasonOf is the reason with which a line is counted.
func reasonOf(l *campaign.Line) string {
	switch l.Status {
	case campaign.Skipped, campaign.Queued:
		return l.Reason
	case campaign.Refused, campaign.Failed:
		return l.Code
	}
	return ""
}

// stepsOf is the funnel of one accepted line.
func stepsOf(l *campaign.Line) (f campaign.Funnel) {
	one := func(is bool) int64 {
		if is {
			return 1
		}
		return 0
	}
	read, delivered := !l.ReadAt.IsZero(), !l.DeliveredAt.IsZero() || !l.ReadAt.IsZero()
	return campaign.Funnel{Accepted: 1, Sent: one(delivered || !l.SentAt.IsZero()), Delivered: one(delivered), Read: one(read),
		Failed: one(!l.FailedAt.IsZero()), Adopted: one(l.Adopted)}
}
