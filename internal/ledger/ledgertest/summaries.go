package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// summed fails unless the summary of a run is what its lines add up to. It returns the summary.
func (f *fixture) summed(no campaign.RunNo) campaign.Summary {
	f.Helper()
	got, d, err := Differs(f.ctx, f.l, no)
	f.ok(err)
	if d != "" {
		f.Errorf("summary of run %d (-lines +summary):\n%s", no, d)
	}
	return got
}

// abroad gives the deliveries numbers of countries, the first one without a number.
func abroad(ds []campaign.Delivery) []campaign.Delivery {
	for i := range ds {
		d := &ds[i]
		if d.Key = []int64{0, 14155550100, 12425550100, 447700900000, 447911100000, 6281200000000, 77010000000}[i%7]; d.Key != 0 {
			d.Key += int64(i)
			d.To = fmt.Sprintf("+%d", d.Key)
		} else {
			d.To, d.Skip = "+9 no number", campaign.InvalidPhone
		}
	}
	return ds
}

var summaryPromises = []promise{
	{"ASummaryIsWhatTheLinesAddUpTo", func(f *fixture) {
		r, l := f.begun(40, 25)
		f.record(acceptance(l, 0), acceptance(l, 1), acceptance(l, 2), acceptance(l, 3), acceptance(l, 4), refusal(l, 5), deferral(l, 6, at(0)),
			deferral(l, 7, at(0)), doubtful(l, 8), doubtful(l, 9))
		f.sentRetry(l, 25, 7, 2)
		failed := event(messageID(r.No, 4), key(4), campaign.Failed, at(150))
		failed.Code = "131049"
		f.apply(event(messageID(r.No, 1), key(1), campaign.Sent, at(5)), event(messageID(r.No, 2), key(2), campaign.Delivered, at(65)),
			event(messageID(r.No, 3), key(3), campaign.Read, at(500)), failed)
		got := f.summed(r.No)
		want := []campaign.SeriesPoint{{At: at(0), Accepted: 5}, {At: at(60), Delivered: 1}, {At: at(120), Failed: 1}, {At: at(480), Read: 1}}
		if d := cmp.Diff(want, got.Series); d != "" || got.Step != time.Minute {
			f.Errorf("step %s, series (-want +got):\n%s", got.Step, d)
		}
		if p := got.Percentile(0.5); p < 58*time.Second || p > 71*time.Second {
			f.Errorf("the one message was delivered after %s; want 64 s, within 10 %%", p)
		}
	}},
	{"ASummaryCountsCountriesAndConnections", func(f *fixture) {
		r := f.create()
		ds := abroad(deliveries(0, 70))
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, ds, []campaign.Segment{{Run: r.No, Hi: 70}}))
		f.ok(f.l.FinishImport(f.ctx, r.No, 70, campaign.Ready))
		l := f.lease(r.No, long)
		in := intent(l, 0, 30)
		in.Keys = nil
		for _, d := range ds[:30] {
			in.Keys = append(in.Keys, d.Key)
		}
		if g := f.intend(in); g.To != 30 {
			f.Fatalf("granted %+v; want To 30", g)
		}
		f.record(acceptance(l, 1), acceptance(l, 2), acceptance(l, 3), refusal(l, 4))
		f.apply(event(messageID(r.No, 2), ds[2].Key, campaign.Read, at(90)))
		got := f.summed(r.No)
		var rows []string
		for _, c := range got.Countries {
			rows = append(rows, fmt.Sprint(c.Country, c.Rows))
		}
		if d := cmp.Diff([]string{"10", "BS10", "GB10", "GG10", "ID10", "KZ10", "US10"}, rows); d != "" {
			f.Errorf("countries (-want +got):\n%s", d)
		}
		if len(got.Connections) != 2 || got.Connections[1].Connection != "conn_1" {
			f.Errorf("got connections %+v; want those of conn_1 and of none", got.Connections)
		}
	}},
	{"ASeriesOfLongSpansHasLongerSteps", func(f *fixture) {
		const n = 1500
		r, l := f.begun(n, n)
		var rs []campaign.Result
		for seq := range int64(n) {
			a := acceptance(l, seq)
			a.At = at(60 * int(seq))
			rs = append(rs, a)
		}
		f.record(rs...)
		if got := f.summed(r.No); got.Step != 5*time.Minute || len(got.Series) != n/5 {
			f.Errorf("got %d points of %s; want %d of 5m0s", len(got.Series), got.Step, n/5)
		}
	}},
	{"ASummaryOfNoRunIsAnError", func(f *fixture) {
		if _, err := f.l.Summary(f.ctx, 99); !errors.Is(err, campaign.ErrNoRun) {
			f.Errorf("got %v; want ErrNoRun", err)
		}
		r := f.create()
		if got := f.summed(r.No); len(got.Connections)+len(got.Countries)+len(got.Series)+len(got.Latency) != 0 {
			f.Errorf("got %+v of a run without rows; want nothing", got)
		}
	}},
}
