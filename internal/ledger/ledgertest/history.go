package ledgertest

import (
	"fmt"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// told is the history of a run without its times.
func (f *fixture) told(no campaign.RunNo) (all []string) {
	f.Helper()
	h, err := f.l.History(f.ctx, no)
	f.ok(err)
	for _, e := range h.Entries {
		all = append(all, fmt.Sprint(e.Kind, " ", e.Value, " ", e.ID, " ", e.Detail))
	}
	return all
}

var historyPromises = []promise{
	{"HistoryTellsWhatHappenedToARun", func(f *fixture) {
		other := f.imported(3)
		r := f.imported(5)
		f.lease(r.No, long)
		f.done(f.l.SetWanted(f.ctx, r.No, campaign.WantPause, ""))
		f.done(f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Running}, campaign.Paused, campaign.PausedByOperator, "lunch"))
		f.done(f.l.SetWanted(f.ctx, r.No, campaign.WantRun, ""))
		rate := 12.0
		f.done(f.l.SetLimits(f.ctx, r.No, campaign.LimitChange{Rate: &rate}, ""))
		f.done(f.l.SetLimits(f.ctx, r.No, campaign.LimitChange{Rate: &rate}, "")) // no change
		want := []string{"state ready  ", "state running  ", "wanted pause  ", "state paused  operator: lunch", "wanted run  ", "state ready  ",
			`limits {"rate":12}  `}
		if d := cmp.Diff(want, f.told(r.No)); d != "" {
			f.Errorf("history (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"state ready  "}, f.told(other.No)); d != "" {
			f.Errorf("history of another run (-want +got):\n%s", d)
		}
	}},
	{"HistoryTellsWhoAskedForAChange", func(f *fixture) {
		no, rate := f.create().No, 12.0
		f.ok(f.l.AppendRows(f.ctx, no, 0, deliveries(0, 2), []campaign.Segment{{Run: no, Hi: 2}}))
		f.ok(f.l.FinishImport(f.ctx, no, 2, campaign.WaitingApproval))
		f.done(f.l.SetLimits(f.ctx, no, campaign.LimitChange{Rate: &rate}, "obi"))
		f.done(f.l.Approve(f.ctx, no, "ada"))
		f.done(f.l.SetWanted(f.ctx, no, campaign.WantPause, "nia"))
		f.done(f.l.SetState(f.ctx, no, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByOperator, ""))
		f.done(f.l.SetWanted(f.ctx, no, campaign.WantRun, "obi"))
		f.done(f.l.SetWanted(f.ctx, no, campaign.WantCancel, ""))
		if again, err := f.l.Approve(f.ctx, no, "nia"); again || err != nil {
			f.Errorf("a second approval: got %v, %v, want false", again, err)
		}
		var got []string
		h, err := f.l.History(f.ctx, no)
		f.ok(err)
		for _, e := range h.Entries {
			got = append(got, fmt.Sprint(e.Kind, " ", e.Value, " ", e.Who))
		}
		want := []string{"state waiting_approval ", `limits {"rate":12} obi`, "state ready ada", "wanted pause nia", "state paused ",
			"wanted run obi", "state ready obi", "wanted cancel "}
		if d := cmp.Diff(want, got); d != "" {
			f.Errorf("history (-want +got):\n%s", d)
		}
	}},
	{"HistoryTellsOfHoldsOfTheRun", func(f *fixture) {
		r, _ := f.begun(5, 2) // over conn_1
		now := time.Now()
		hold := func(scope campaign.HoldScope, id string) campaign.Hold {
			return campaign.Hold{Scope: scope, ID: id, Reason: "maintenance", Source: campaign.HoldByOperator, Since: now}
		}
		f.done(f.l.AddHolds(f.ctx, []campaign.Hold{hold(campaign.HoldConnection, "conn_1"), hold(campaign.HoldConnection, "conn_2")}))
		f.done(f.l.LiftHolds(f.ctx, []campaign.Lift{{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "maintenance",
			At: now.Add(time.Second), By: campaign.HoldByOperator}}))
		want := []string{"state ready  ", "state running  ", "hold connection conn_1 maintenance", "hold_ended connection conn_1 maintenance"}
		if d := cmp.Diff(want, f.told(r.No)); d != "" {
			f.Errorf("history (-want +got):\n%s", d)
		}
	}},
	{"HistoryTellsWhoHeldAndWhoLifted", func(f *fixture) {
		r, _ := f.begun(5, 2) // over conn_1
		now := time.Now().Truncate(time.Millisecond).UTC()
		hold := func(second int, who, why string, until time.Time) campaign.Hold {
			return campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "operator", Detail: why, Source: campaign.HoldByOperator,
				Since: now.Add(time.Duration(second) * time.Second), Until: until, Who: who}
		}
		hour := now.Add(time.Hour)
		for _, h := range []campaign.Hold{hold(0, "ada", "maintenance", time.Time{}), hold(1, "ada", "maintenance", time.Time{}),
			hold(2, "nia", "a new line", hour)} {
			f.done(f.l.AddHolds(f.ctx, []campaign.Hold{h}))
		}
		f.done(f.l.LiftHolds(f.ctx, []campaign.Lift{{Scope: campaign.HoldConnection, ID: "conn_1", At: now.Add(3 * time.Second),
			By: campaign.HoldByOperator, Who: "obi"}}))
		f.done(f.l.AddHolds(f.ctx, []campaign.Hold{{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "429", Detail: "slow down",
			Source: campaign.HoldByRefusal, Since: now.Add(4 * time.Second), Until: hour}}))
		entry := func(second int, kind campaign.HistoryKind) campaign.HistoryEntry {
			return campaign.HistoryEntry{At: now.Add(time.Duration(second) * time.Second), Kind: kind, Value: "connection", ID: "conn_1",
				Detail: "operator", Source: campaign.HoldByOperator}
		}
		want := []campaign.HistoryEntry{entry(0, campaign.HistoryHold), entry(2, campaign.HistoryHold), entry(3, campaign.HistoryHoldEnded),
			entry(4, campaign.HistoryHold)}
		want[0].Who, want[0].Why = "ada", "maintenance"
		want[1].Who, want[1].Why, want[1].Until = "nia", "a new line", hour
		want[2].Who = "obi"
		want[3].Detail, want[3].Source, want[3].Why, want[3].Until = "429", campaign.HoldByRefusal, "slow down", hour
		h, err := f.l.History(f.ctx, r.No)
		f.ok(err)
		if d := cmp.Diff(want, h.Entries[max(0, len(h.Entries)-4):]); d != "" {
			f.Errorf("history (-want +got):\n%s", d)
		}
		all, err := f.l.Holds(f.ctx, true)
		f.ok(err)
		for _, h := range all {
			if h.Reason == "operator" && (h.Who != "nia" || h.LiftedWho != "obi") {
				f.Errorf("got a hold by %q that %q lifted, want nia and obi", h.Who, h.LiftedWho)
			}
		}
	}},
	{"HistoryTellsWhenACanaryWasReleased", func(f *fixture) {
		r := f.create()
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 3), []campaign.Segment{{Run: r.No, Hi: 3, AfterCanary: true}}))
		f.ok(f.l.FinishImport(f.ctx, r.No, 3, campaign.Ready))
		f.ok(f.l.ReleaseCanary(f.ctx, r.No, "ada", "3 of 3"))
		f.ok(f.l.ReleaseCanary(f.ctx, r.No, "obi", ""))
		if d := cmp.Diff([]string{"state ready  ", "canary   3 of 3"}, f.told(r.No)); d != "" {
			f.Errorf("history (-want +got):\n%s", d)
		}
		h, err := f.l.History(f.ctx, r.No)
		f.ok(err)
		if got := h.Entries[len(h.Entries)-1].Who; got != "ada" {
			f.Errorf("got a canary released by %q, want ada", got)
		}
	}},
	{"ALanesLimitIsKeptWhenItChanges", func(f *fixture) {
		r := f.imported(1)
		lane := func(second int, by campaign.LimitedBy, rate float64) {
			f.ok(f.l.ReportLanes(f.ctx, "one", []campaign.LaneReport{{Run: r.No, Connection: "conn_1", LimitedBy: by, Rate: rate, At: at(second)}}))
		}
		lane(0, campaign.ByThroughput, 10)
		lane(1, campaign.ByThroughput, 11) // less than a minute later
		lane(2, campaign.ByWindow, 11)
		lane(3, campaign.ByWindow, 11)
		lane(63, campaign.ByWindow, 12)
		lane(200, campaign.ByWindow, 12)
		h, err := f.l.History(f.ctx, r.No)
		f.ok(err)
		point := func(second int, by campaign.LimitedBy, rate float64) campaign.LanePoint {
			return campaign.LanePoint{At: at(second), Connection: "conn_1", Owner: "one", LimitedBy: by, Rate: rate}
		}
		want := []campaign.LanePoint{point(0, campaign.ByThroughput, 10), point(2, campaign.ByWindow, 11), point(63, campaign.ByWindow, 12)}
		if d := cmp.Diff(want, h.Lanes); d != "" {
			f.Errorf("lanes (-want +got):\n%s", d)
		}
	}},
	{"AHistoryOfManyLanePointsIsBounded", func(f *fixture) {
		const lanes, times, most = 60, 250, 10_000 + 2*60
		r, small := f.imported(1), f.imported(1)
		report := func(no campaign.RunNo, time int, by campaign.LimitedBy, lanes int) {
			all := make([]campaign.LaneReport, lanes)
			for i := range all {
				all[i] = campaign.LaneReport{Run: no, Connection: fmt.Sprintf("conn_%02d", i), LimitedBy: by, Rate: float64(time), At: at(60 * time)}
			}
			f.ok(f.l.ReportLanes(f.ctx, "one", all))
		}
		for i := range times {
			report(r.No, i, [...]campaign.LimitedBy{campaign.ByThroughput, campaign.ByWindow}[i%2], lanes)
		}
		report(small.No, 0, campaign.ByTier, 1)
		h, err := f.l.History(f.ctx, r.No)
		f.ok(err)
		if n := len(h.Lanes); n > most || n < most/4 {
			f.Errorf("got %d points of %d, want at most %d, and more than a quarter of that", n, lanes*times, most)
		}
		of := map[string][]int64{}
		for i, p := range h.Lanes {
			of[p.Connection] = append(of[p.Connection], p.At.Unix())
			if i > 0 && p.At.Before(h.Lanes[i-1].At) {
				f.Fatalf("point %d of %s is before the one before it, want the order of time", i, p.At)
			}
		}
		for connection, told := range of {
			if first, last := told[0], told[len(told)-1]; first != at(0).Unix() || last != at(60*(times-1)).Unix() {
				f.Errorf("%s: got points from %d to %d, want its first and its last point", connection, first, last)
			}
		}
		if h, err = f.l.History(f.ctx, small.No); err != nil || len(of) != lanes || len(h.Lanes) != 1 {
			f.Errorf("got %d lanes, and of the other run %+v, %v; want %d and its one point", len(of), h.Lanes, err, lanes)
		}
	}},
	{"RetentionForgetsWhatLimitedLanes", func(f *fixture) {
		r := f.imported(1)
		for second, by := range []campaign.LimitedBy{campaign.ByThroughput, campaign.ByWindow, campaign.ByHold} {
			f.ok(f.l.ReportLanes(f.ctx, "one", []campaign.LaneReport{{Run: r.No, Connection: "conn_1", LimitedBy: by, At: at(second)}}))
		}
		f.retires(at(2), 0)
		h, err := f.l.History(f.ctx, r.No)
		f.ok(err)
		if len(h.Lanes) != 1 || h.Lanes[0].LimitedBy != campaign.ByHold || len(h.Entries) != 1 {
			f.Errorf("history: %+v; want the last lane and the state", h)
		}
	}},
}
