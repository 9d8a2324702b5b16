package ledgertest

import (
	"errors"
	"maps"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

var sharePromises = []promise{
	{"LimitsChangeOneByOne", func(f *fixture) {
		r := f.imported(1)
		bulk, weight, rate, deadline := campaign.ClassBulk, 3, 2.5, campaign.Duration(time.Hour)
		f.done(f.l.SetLimits(f.ctx, r.No, campaign.LimitChange{Weight: &weight, Rate: &rate}, ""))
		none := 0.0
		after, err := f.l.SetLimits(f.ctx, r.No, campaign.LimitChange{Rate: &none, Class: &bulk, Deadline: &deadline}, "")
		f.ok(err)
		want := campaign.LimitChange{Class: &bulk, Weight: &weight, Rate: &none, Deadline: &deadline}
		if d := cmp.Diff(want, after.Changed); d != "" {
			f.Errorf("as answered, -want +got:\n%s", d)
		}
		if d := cmp.Diff(want, f.run(r.No).Changed); d != "" {
			f.Errorf("as read, -want +got:\n%s", d)
		}
	}},
	{"LimitsThatNoFileMayHaveAreRefused", func(f *fixture) {
		r := f.imported(1)
		none := 0
		if _, err := f.l.SetLimits(f.ctx, r.No, campaign.LimitChange{Weight: &none}, ""); err == nil {
			f.Error("a weight of 0: got no error, want one")
		}
		if got := f.run(r.No).Changed; got != (campaign.LimitChange{}) {
			f.Errorf("after a refusal: got %+v, want no change", got)
		}
		one := 1
		if _, err := f.l.SetLimits(f.ctx, r.No+1, campaign.LimitChange{Weight: &one}, ""); !errors.Is(err, campaign.ErrNoRun) {
			f.Errorf("of no run: got %v, want ErrNoRun", err)
		}
		f.done(f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Ready}, campaign.Finished, "", ""))
		if after, err := f.l.SetLimits(f.ctx, r.No, campaign.LimitChange{Weight: &one}, ""); err != nil || after.Changed.Weight != nil {
			f.Errorf("of an ended run: got %+v, %v, want no change, no error", after.Changed, err)
		}
	}},
	{"ABacklogIsWhatNoMarkHasPassed", func(f *fixture) {
		r := f.create()
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 5), []campaign.Segment{{Run: r.No, Hi: 5, Group: "Asia/Tokyo"}}))
		f.ok(f.l.AppendRows(f.ctx, r.No, 5, deliveries(campaign.SegmentSize, campaign.SegmentSize+3), []campaign.Segment{
			{Run: r.No, Index: 1, Lo: campaign.SegmentSize, Hi: campaign.SegmentSize + 3, Group: "Africa/Lagos"}}))
		f.ok(f.l.FinishImport(f.ctx, r.No, 8, campaign.Ready))
		l := f.lease(r.No, long)
		f.intend(intent(l, 0, 2))
		got, err := f.l.Backlog(f.ctx, r.No)
		f.ok(err)
		if want := map[string]int64{"Asia/Tokyo": 3, "Africa/Lagos": 3}; !maps.Equal(got, want) {
			f.Errorf("backlog %v, want %v", got, want)
		}
		if got, err = f.l.Backlog(f.ctx, r.No+1); err != nil || len(got) > 0 {
			f.Errorf("backlog of no run: %v, %v, want none, no error", got, err)
		}
	}},
	{"LiveLanesAreThoseReportedLately", func(f *fixture) {
		r := f.imported(1)
		a := campaign.LaneReport{Run: r.No, Connection: "conn_1", LimitedBy: campaign.ByShare, Rate: 7, Wants: true,
			At: time.Now().UTC().Truncate(time.Millisecond)}
		b := a
		b.Run, b.Wants, b.Until = r.No+1, false, a.At.Add(time.Hour)
		f.ok(f.l.ReportLanes(f.ctx, "one", []campaign.LaneReport{a, b}))
		got, err := f.l.LiveLanes(f.ctx, time.Minute, "")
		f.ok(err)
		a.Owner, b.Owner = "one", "one"
		if d := cmp.Diff([]campaign.LaneReport{a, b}, got); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		if got, err = f.l.LiveLanes(f.ctx, time.Minute, "one"); err != nil || len(got) > 0 {
			f.Errorf("of others than the one that reported: got %+v, %v, want none, no error", got, err)
		}
		if got, err = f.l.LiveLanes(f.ctx, time.Minute, "two"); err != nil || len(got) != 2 {
			f.Errorf("of others than one that reported nothing: got %+v, %v, want both, no error", got, err)
		}
		if got, err = f.l.LiveLanes(f.ctx, -time.Minute, ""); err != nil || len(got) > 0 {
			f.Errorf("reported in the future: got %+v, %v, want none, no error", got, err)
		}
	}},
}
