package launch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
)

// A rate of one message in eleven days and a long list take more time than a time.Duration holds.
func TestTheTimeThatSendingTakesDoesNotOverflow(t *testing.T) {
	for _, c := range []struct {
		rows int64
		rate float64
		want time.Duration
	}{{11_001, 0.000001, 100 * 365 * 24 * time.Hour}, {1000, 0.01, 100_000 * time.Second}, {1000, 40, 25 * time.Second}} {
		k := &check{p: &Preflight{Rows: c.rows, Sendable: c.rows}, d: &file.Definition{Limits: file.Limits{Rate: c.rate}}}
		k.totals()
		if k.p.Duration != c.want || k.p.Seconds != c.want.Seconds() {
			t.Errorf("%d rows at %g/s take %v (%g s), want %v", c.rows, c.rate, k.p.Duration, k.p.Seconds, c.want)
		}
	}
}

func TestDefaultPaceFollowsItsFormula(t *testing.T) {
	for _, c := range []struct {
		throughput  float64
		coexistence bool
		want        float64
	}{
		{0, false, 68.4}, // 0.90 x 80 x 0.95
		{-1, false, 68.4},
		{0.5, false, 0.4275},
		{100, false, 85.5},    // 0.90 up to 100/s
		{300, false, 263.625}, // 0.925 half-way
		{500, false, 451.25},  // 0.95 from 500/s
		{1000, false, 902.5},
		{0, true, 12.6},  // 0.90 x 20 x 0.70
		{20, true, 12.6}, // the client of the service tells no coexistence number above 20/s
		{10, true, 6.3},
	} {
		n := messaging.Number{Throughput: c.throughput, Coexistence: c.coexistence}
		if got := defaultPace(n); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("defaultPace(%g/s, coexistence %v) = %g, want %g", c.throughput, c.coexistence, got, c.want)
		}
	}
}

// Each warning, on both sides of its limit.
func TestWarningsBeginBeyondTheirLimits(t *testing.T) {
	day := int64(24 * 3600)
	for name, c := range map[string]struct {
		limits   file.Limits
		header   *file.HeaderUse
		sendable int64
		pace     float64
		tiers    int64
		want     []string
	}{
		"as many as max_messages": {limits: file.Limits{MaxMessages: 5}, sendable: 5},
		"one more": {limits: file.Limits{MaxMessages: 5}, sendable: 6,
			want: []string{"6 rows can be sent and the limit is 5: 1 becomes skipped (over_limit)"}},
		"a limit of one": {limits: file.Limits{MaxMessages: 1}, sendable: 2,
			want: []string{"2 rows can be sent and the limit is 1: 1 becomes skipped (over_limit)"}},
		"until not_after": {limits: file.Limits{NotAfter: campaign.Duration(10 * time.Second)}, sendable: 10, pace: 1},
		"a second after it": {limits: file.Limits{NotAfter: campaign.Duration(10 * time.Second)}, sendable: 11, pace: 1,
			want: []string{"sending takes about 11s at 1.0 messages per second: what is left after 10s is skipped (expired)"}},
		"max_messages before that": {limits: file.Limits{NotAfter: campaign.Duration(10 * time.Second), MaxMessages: 10}, sendable: 11, pace: 1,
			want: []string{"11 rows can be sent and the limit is 10: 1 becomes skipped (over_limit)"}},
		"media for 25 days": {header: &file.HeaderUse{Image: &file.MediaUse{ID: "1"}}, sendable: 25 * day, pace: 1},
		"media for longer": {header: &file.HeaderUse{Image: &file.MediaUse{ID: "1"}}, sendable: 25*day + 1, pace: 1,
			want: []string{"sending takes about 600h1s, and the service deletes media 30 days after upload"}},
		"a link for longer":         {header: &file.HeaderUse{Image: &file.MediaUse{Link: "https://a/b"}}, sendable: 25*day + 1, pace: 1},
		"all in the tiers of a day": {sendable: 100, tiers: 100},
		"one beyond the tiers": {sendable: 101, tiers: 100,
			want: []string{"101 recipients, but the numbers may reach at most 100 people in 24 hours: " +
				"the others wait until places of the tier are free"}},
		"two tiers": {sendable: 200, tiers: 100,
			want: []string{"200 recipients, but the numbers may reach at most 100 people in 24 hours: " +
				"the others wait until places of the tier are free"}},
		"more than two tiers": {sendable: 201, tiers: 100,
			want: []string{"201 recipients, but the numbers may reach at most 100 people in 24 hours: " +
				"the others wait until places of the tier are free"}},
		"tiers of one": {sendable: 2, tiers: 1,
			want: []string{"2 recipients, but the numbers may reach at most 1 people in 24 hours: " +
				"the others wait until places of the tier are free"}},
		"tiers of the limited": {limits: file.Limits{MaxMessages: 100}, sendable: 101, tiers: 100,
			want: []string{"101 rows can be sent and the limit is 100: 1 becomes skipped (over_limit)"}},
	} {
		k := &check{p: &Preflight{Rows: c.sendable, Sendable: c.sendable, Pace: c.pace},
			d: &file.Definition{Limits: c.limits, Template: file.TemplateUse{Header: c.header}}, tiers: c.tiers, src: file.ReadSource("c.yaml", nil)}
		k.totals()
		var got []string
		for _, f := range k.p.Warnings() {
			got = append(got, f.What[strings.Index(f.What, ": ")+2:])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s\ngot  %q\nwant %q", name, got, c.want)
		}
	}
	for _, c := range []struct{ rate, pace, want float64 }{{0, 5, 5}, {4, 5, 4}, {5, 5, 5}, {6, 5, 5}, {6, 0, 6}} {
		k := &check{p: &Preflight{Rows: 1, Sendable: 1, Pace: c.pace}, d: &file.Definition{Limits: file.Limits{Rate: c.rate}}}
		k.totals()
		if k.p.Pace != c.want {
			t.Errorf("a pace of %g under a limit of %g is %g, want %g", c.pace, c.rate, k.p.Pace, c.want)
		}
	}
}
