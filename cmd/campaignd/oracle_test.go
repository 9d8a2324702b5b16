package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// oracle counts a run again from the text of its export alone. It shares no code with the
// summaries.
type oracle struct {
	rows      int64
	retried   int64                       // rows with several attempts
	totals    map[string]int64            // by status
	reasons   map[string]int64            // by status and code, or reason of a skip
	numbers   map[string]map[string]int64 // by connection and status
	countries map[string]counts
	stages    map[string]counts // by connection; "": of all
	points    map[time.Time]counts
	took      []time.Duration // from acceptance to delivery, in order
}

// counts count rows that came so far. A message that was read was delivered too.
type counts struct{ rows, skipped, refused, accepted, sent, delivered, read, failed int64 }

func recount(t *testing.T, text string) *oracle {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{totals: map[string]int64{}, reasons: map[string]int64{}, numbers: map[string]map[string]int64{},
		countries: map[string]counts{}, stages: map[string]counts{}, points: map[time.Time]counts{}}
	for _, record := range all[1:] {
		cell := func(name string) string {
			if i := slices.Index(all[0], name); i >= 0 {
				return record[i]
			}
			return "" // a list without the column home
		}
		at := func(name string) (at time.Time) {
			if s := cell(name); s != "" {
				if at, err = time.Parse(time.RFC3339Nano, s); err != nil {
					t.Fatal(err)
				}
			}
			return at
		}
		o.count(cell, at)
	}
	slices.Sort(o.took)
	return o
}

func (o *oracle) count(cell func(string) string, at func(string) time.Time) {
	status, connection := cell("status"), cell("connection")
	accepted, sent, delivered, read, failed := at("accepted_at"), at("sent_at"), at("delivered_at"), at("read_at"), at("failed_at")
	o.rows++
	if tries := cell("attempts"); tries != "0" && tries != "1" {
		o.retried++
	}
	o.totals[status]++
	switch status {
	case "skipped":
		o.reasons[status+" "+cell("reason")]++
	case "failed", "refused":
		o.reasons[status+" "+cell("code")]++
	}
	if o.numbers[connection] == nil {
		o.numbers[connection] = map[string]int64{}
	}
	o.numbers[connection][status]++
	one := func(is bool) int64 {
		if is {
			return 1
		}
		return 0
	}
	c := counts{rows: 1, skipped: one(status == "skipped"), refused: one(status == "refused"), accepted: one(!accepted.IsZero()),
		sent:      one(!sent.IsZero() || !delivered.IsZero() || !read.IsZero()),
		delivered: one(!delivered.IsZero() || !read.IsZero()), read: one(!read.IsZero()), failed: one(!failed.IsZero())}
	for _, sum := range []struct {
		of  map[string]counts
		key string
	}{{o.countries, cell("home")}, {o.stages, connection}, {o.stages, "all"}} {
		sum.of[sum.key] = sum.of[sum.key].plus(c)
	}
	for _, p := range []struct {
		at time.Time
		c  counts
	}{{accepted, counts{accepted: 1}}, {delivered, counts{delivered: 1}}, {read, counts{read: 1}}, {failed, counts{failed: 1}}} {
		if minute := p.at.Truncate(time.Minute); !p.at.IsZero() {
			o.points[minute] = o.points[minute].plus(p.c)
		}
	}
	if !accepted.IsZero() && !delivered.IsZero() {
		o.took = append(o.took, delivered.Sub(accepted))
	}
}

func (c counts) plus(d counts) counts {
	return counts{c.rows + d.rows, c.skipped + d.skipped, c.refused + d.refused, c.accepted + d.accepted, c.sent + d.sent,
		c.delivered + d.delivered, c.read + d.read, c.failed + d.failed}
}

// percentile is the time in which the share p of the messages was delivered.
func (o *oracle) percentile(p float64) time.Duration {
	return o.took[int(math.Ceil(p*float64(len(o.took))))-1]
}

// percent is a share as the HTML report writes it.
func percent(n, of int64) string {
	return fmt.Sprintf("%.1f\u00a0%%", 100*float64(n)/float64(of))
}
