package main

import (
	"maps"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"
)

// in adds up the points of an export in longer steps, which begin at multiples of step in UTC.
func (o *oracle) in(step time.Duration) map[time.Time]counts {
	all := map[time.Time]counts{}
	for at, c := range o.points {
		at = at.Truncate(step)
		all[at] = all[at].plus(c)
	}
	return all
}

// spread makes a run of which a message is accepted each gap, and failed after 2 gaps, or delivered
// after 3 and mostly read after 7. The times are those of the ledger, so a run may last for weeks.
func spread(t *testing.T, l campaign.Ledger, rows int64, gap time.Duration) campaign.Run {
	t.Helper()
	r := ledgertest.Load(t, l, rows)
	begin := time.Now().Add(-time.Duration(rows+10) * gap).Truncate(time.Second).UTC()
	events := campaign.Events{}
	for _, lease := range ledgertest.ClaimAll(t, l, r.No) {
		var keys []int64
		for _, d := range ledgertest.Rows(lease.Lo, lease.Hi) {
			keys = append(keys, d.Key)
		}
		if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: lease.Lo, To: lease.Hi,
			Keys: keys}}); err != nil {
			t.Fatal(err)
		}
		results := ledgertest.Acceptances(lease, lease.Lo, lease.Hi)
		for i := range results {
			at := begin.Add(time.Duration(results[i].Seq) * gap)
			results[i].At, results[i].IntentAt = at, at
			add := func(s campaign.Status, after time.Duration) {
				events.Statuses = append(events.Statuses, campaign.StatusEvent{MessageID: results[i].MessageID, Connection: "conn_1",
					Recipient: keys[i], Status: s, At: at.Add(after), ReceivedAt: at.Add(after)})
			}
			if i%5 == 0 {
				add(campaign.Failed, 2*gap)
				continue
			}
			add(campaign.Delivered, 3*gap)
			if i%3 > 0 {
				add(campaign.Read, 7*gap)
			}
		}
		if err := l.Record(t.Context(), results); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Apply(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLongerStepsAreRecountedFromAnExport(t *testing.T) {
	t.Parallel()
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.path("campaignd.db")
	l, err := sqlite.Open(t.Context(), d.path("campaignd.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	hours, weeks := spread(t, l, 400, 29*time.Second), spread(t, l, 5000, 9*time.Minute)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	recounted := map[campaign.RunNo]*oracle{}
	for _, r := range []campaign.Run{hours, weeks} {
		recounted[r.No] = recount(t, d.want(0, "report", r.ID(), "--format", "csv").stdout)
	}
	if l, err = sqlite.Open(t.Context(), d.path("campaignd.db"), ledger.Options{Sender: true}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	session := &operator.Session{Ledger: l}
	for _, tt := range []struct {
		run    campaign.Run
		step   time.Duration
		points int // at least
	}{
		{hours, time.Minute, 180}, {hours, 5 * time.Minute, 36}, {hours, time.Hour, 3},
		{weeks, 5 * time.Minute, 30}, {weeks, time.Hour, 30}, {weeks, 24 * time.Hour, 30},
	} {
		s, err := session.Series(t.Context(), tt.run.ID(), tt.step)
		if err != nil {
			t.Fatal(err)
		}
		step, got := time.Duration(s.StepSeconds)*time.Second, map[time.Time]counts{}
		for _, p := range s.Points {
			got[p.At] = counts{accepted: p.Accepted, delivered: p.Delivered, read: p.Read, failed: p.Failed}
		}
		if step < tt.step || tt.run.No == hours.No && step != tt.step || len(got) < tt.points {
			t.Errorf("%s in steps of %s: got %d points in steps of %s, want at least %d", tt.run.ID(), tt.step, len(got), step, tt.points)
		}
		if want := recounted[tt.run.No].in(step); !maps.Equal(got, want) {
			t.Errorf("%s in steps of %s: got %v, want %v as the export has it", tt.run.ID(), step, got, want)
		}
		if !slices.IsSortedFunc(s.Points, func(a, b resource.SeriesPoint) int { return a.At.Compare(b.At) }) {
			t.Errorf("%s in steps of %s: the points are not in order", tt.run.ID(), step)
		}
	}
}
