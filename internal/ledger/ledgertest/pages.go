package ledgertest

import (
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
)

// spread makes a run with this number of segments, of six deliveries each, ready to be sent. The
// rows are in the opposite order of the seqs.
func (f *fixture) spread(segments int64) campaign.Run {
	f.Helper()
	r := f.create()
	var all []campaign.Delivery
	var ss []campaign.Segment
	for i := range segments {
		lo := i * campaign.SegmentSize
		all = append(all, deliveries(lo, lo+6)...)
		ss = append(ss, campaign.Segment{Run: r.No, Index: i, Lo: lo, Hi: lo + 6})
	}
	for i := range all {
		all[i].Row = int64(len(all) - i)
	}
	f.ok(f.l.AppendRows(f.ctx, r.No, 0, all, ss))
	f.ok(f.l.FinishImport(f.ctx, r.No, int64(len(all)), campaign.Ready))
	return r
}

// ended parks a segment and fails unless that makes it done.
func (f *fixture) ended(l campaign.Lease) {
	f.Helper()
	p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute))
	f.ok(err)
	if !p.Done {
		f.Errorf("segment %d: parked %+v, want Done", l.Index, p)
	}
}

// pagePromises are about reports that need more than one read of the ledger, in a ledger that has
// other runs, too.
var pagePromises = []promise{
	{"PagesHaveWhatTheirFilterSelects", func(f *fixture) {
		r := f.spread(4)
		f.imported(9) // its neighbour
		ls := append(f.claim(r.No, long, 2), f.claim(r.No, gone, 1)...)
		if len(ls) != 3 {
			f.Fatalf("claimed %d segments, want 3", len(ls))
		}
		// One segment is done. Its deliveries have every rank.
		f.sent(ls[0], 0, 6)
		for seq := range int64(6) {
			f.record(acceptance(ls[0], seq))
			for i, s := range []campaign.Status{campaign.Sent, campaign.Failed, campaign.Delivered, campaign.Read}[:min(seq, 4)] {
				e := event(messageID(r.No, seq), key(seq), s, at(5+10*i))
				if s == campaign.Failed && seq != 2 { // one fails without a code
					e.Code = "131049"
				}
				f.apply(e)
			}
		}
		f.ended(ls[0])
		// One is leased: two refusals, deferred, in doubt, sent again and in flight, and queued.
		lo := ls[1].Lo
		f.sent(ls[1], lo, lo+5)
		bare := refusal(ls[1], lo+1)
		bare.Code = ""
		f.record(refusal(ls[1], lo), bare, deferral(ls[1], lo+2, at(0)), doubtful(ls[1], lo+3))
		f.sentRetry(ls[1], lo+5, lo+2, 2)
		// One segment has lost its owner. Its deliveries are unknown, deferred, without a result, and
		// queued.
		lo = ls[2].Lo
		f.sent(ls[2], lo, lo+4)
		f.record(doubtful(ls[2], lo), deferral(ls[2], lo+1, at(9)))
		f.done(f.l.Resolve(f.ctx, ls[2], reception.Span{Until: at(50)}, campaign.UncertainHold))

		var all []campaign.Line
		for line, err := range f.l.Lines(f.ctx, r.No) {
			f.ok(err)
			all = append(all, line)
		}
		slices.SortFunc(all, func(a, b campaign.Line) int { return int(a.Seq - b.Seq) })
		filters := []campaign.LineFilter{{}, {Key: key(2)}, {Key: 1}, {Status: campaign.Accepted, Key: key(2)},
			{Since: at(10)}, {Before: at(10)}, {Since: at(10), Before: at(30)}, {Since: at(10), Status: campaign.InDoubt},
			{Since: at(10), Status: campaign.Queued}}
		withoutCode := []campaign.LineFilter{{Code: campaign.NoCode}, {Code: campaign.NoCode, Status: campaign.Failed},
			{Code: campaign.NoCode, Status: campaign.Refused}}
		filters = append(filters, withoutCode...)
		for _, connection := range []string{"", "conn_1", "conn_none"} {
			filters = append(filters, campaign.LineFilter{Connection: connection})
			for _, s := range campaign.Statuses {
				filters = append(filters, campaign.LineFilter{Status: s, Connection: connection})
			}
			for _, line := range all {
				filters = append(filters, campaign.LineFilter{Reason: line.Reason, Code: line.Code, Connection: connection},
					campaign.LineFilter{Status: line.Status, Reason: line.Reason, Code: line.Code, Connection: connection})
			}
		}
		shown := map[campaign.Status]bool{}
		for _, filter := range filters {
			var want, got []campaign.Line
			for _, line := range all {
				if filter.Selects(&line) {
					want = append(want, line)
					shown[line.Status] = true
				}
			}
			for next, more := int64(0), true; more; more = next != 0 {
				var page []campaign.Line
				var err error
				page, next, err = f.l.SelectLines(f.ctx, r.No, filter, next, 3)
				f.ok(err)
				if len(page) > 3 {
					f.Errorf("%+v: a page of %d, want at most 3", filter, len(page))
				}
				got = append(got, page...)
			}
			if d := cmp.Diff(want, got); d != "" {
				f.Errorf("%+v: -want +got:\n%s", filter, d)
			}
			if len(want) == 0 && slices.Contains(withoutCode, filter) {
				f.Errorf("%+v selects no delivery, want one without a code", filter)
			}
		}
		for _, s := range campaign.Statuses {
			if s != campaign.Skipped && !shown[s] {
				f.Errorf("no delivery is %s, want one of each status", s)
			}
		}
		if page, next, err := f.l.SelectLines(f.ctx, r.No+100, campaign.LineFilter{}, 0, 3); len(page) != 0 || next != 0 || err != nil {
			f.Errorf("a run that is not there: got %d lines, next %d and %v, want none", len(page), next, err)
		}
	}},
	{"EverySegmentIsCountedOnce", func(f *fixture) {
		for _, segments := range []int64{1, 2, 3, 4, 5} {
			r := f.spread(segments)
			f.counted(r.No, map[campaign.Status]int64{campaign.Queued: 6 * segments})
			ls := f.claim(r.No, long, 9)
			for _, l := range ls {
				f.sent(l, l.Lo, l.Hi)
			}
			f.counted(r.No, map[campaign.Status]int64{campaign.Sending: 6 * segments})
			for i, l := range ls {
				for seq := l.Lo; seq < l.Hi; seq++ {
					f.record(acceptance(l, seq))
				}
				f.ended(l)
				want := map[campaign.Status]int64{campaign.Accepted: 6 * int64(i+1)}
				if open := 6 * (segments - int64(i) - 1); open > 0 {
					want[campaign.Sending] = open
				}
				f.counted(r.No, want)
			}
			f.sound(r.No)
		}
	}},
	{"TheTalliesOfARunLeaveItsNeighboursOut", func(f *fixture) {
		refuseAll := func(no campaign.RunNo, code string) {
			for _, l := range f.claim(no, long, 9) {
				f.sent(l, l.Lo, l.Hi)
				for seq := l.Lo; seq < l.Hi; seq++ {
					x := refusal(l, seq)
					x.Code = code
					f.record(x)
				}
			}
		}
		before, r, after := f.spread(2), f.spread(5), f.spread(2)
		refuseAll(before.No, "before")
		refuseAll(after.No, "after")
		ls := append(f.claim(r.No, long, 4), f.claim(r.No, gone, 1)...)
		if len(ls) != 5 {
			f.Fatalf("claimed %d segments, want 5", len(ls))
		}
		told := func(seq int64, s campaign.Status, code string) campaign.StatusEvent {
			e := event(messageID(r.No, seq), key(seq), s, at(5))
			e.Code = code
			return e
		}
		// Done: one of each rank, twice failed of different codes.
		f.sent(ls[0], 0, 6)
		for seq := range int64(6) {
			f.record(acceptance(ls[0], seq))
		}
		f.apply(told(0, campaign.Sent, ""), told(1, campaign.Delivered, ""), told(2, campaign.Read, ""), told(3, campaign.Failed, "131049"),
			told(4, campaign.Failed, "131026"))
		f.ended(ls[0])
		// Done: refusals of two codes.
		f.sent(ls[1], ls[1].Lo, ls[1].Hi)
		for i := range int64(6) {
			x := refusal(ls[1], ls[1].Lo+i)
			x.Code = []string{"a", "b", "b", "b", "b", "b"}[i]
			f.record(x)
		}
		f.ended(ls[1])
		// Open, leased: sent and failed, two that policy resent, one in flight, two queued.
		lo := ls[2].Lo
		f.sent(ls[2], lo, lo+4)
		f.record(acceptance(ls[2], lo), doubtful(ls[2], lo+1), doubtful(ls[2], lo+2))
		f.apply(told(lo, campaign.Sent, ""), told(lo, campaign.Failed, "131049"))
		f.resolved(ls[2], at(50), campaign.UncertainResend, 2)
		// Done: three doubts that webhooks prove, three accepted.
		lo = ls[3].Lo
		f.sent(ls[3], lo, lo+6)
		for i := range int64(3) {
			f.record(acceptance(ls[3], lo+i), doubtful(ls[3], lo+3+i))
			f.apply(event(messageID(r.No, lo+3+i), key(lo+3+i), campaign.Delivered, at(2)))
		}
		f.swept(campaign.Swept{Adopted: 3})
		f.ended(ls[3])
		// Open, its owner's lease is over: one in doubt, two without a result, three queued.
		lo = ls[4].Lo
		f.sent(ls[4], lo, lo+3)
		f.record(doubtful(ls[4], lo))

		got, funnel, err := f.l.Tallies(f.ctx, r.No)
		f.ok(err)
		want := []campaign.Tally{tally(campaign.Queued, "", 2+3), tally(campaign.Queued, "time_out", 2),
			tally(campaign.Sending, "", 1), tally(campaign.Accepted, "", 1+3),
			tally(campaign.Sent, "", 1),
			tally(campaign.Delivered, "", 1+3), tally(campaign.Read, "", 1), tally(campaign.Failed, "131026", 1),
			tally(campaign.Failed, "131049", 2),
			tally(campaign.Refused, "a", 1), tally(campaign.Refused, "b", 5), tally(campaign.InDoubt, "", 3)}
		if d := cmp.Diff(want, got); d != "" {
			f.Errorf("tallies (-want +got):\n%s", d)
		}
		if d := cmp.Diff(campaign.Funnel{Accepted: 13, Sent: 7, Delivered: 5, Read: 1, Failed: 3, Adopted: 3, MaybeDuplicate: 2},
			funnel); d != "" {
			f.Errorf("funnel (-want +got):\n%s", d)
		}
		for _, n := range []struct {
			run  campaign.Run
			code string
		}{{before, "before"}, {after, "after"}} {
			got, _, err := f.l.Tallies(f.ctx, n.run.No)
			f.ok(err)
			if d := cmp.Diff([]campaign.Tally{tally(campaign.Refused, n.code, 12)}, got); d != "" {
				f.Errorf("tallies of the run %s (-want +got):\n%s", n.code, d)
			}
		}
		ss, err := f.l.SegmentStates(f.ctx, r.No)
		f.ok(err)
		var indexes []int64
		for _, s := range ss {
			indexes = append(indexes, s.Index)
		}
		if want := []int64{0, 1, 2, 3, 4}; !slices.Equal(indexes, want) {
			f.Errorf("segments %v, want %v", indexes, want)
		}
		f.sound(r.No)
	}},
	{"LinesComeInTheirOrderOverEveryPage", func(f *fixture) {
		sizes := []int64{999, 1000, 1001, 2000} // a page or two, and one more or less
		var runs []campaign.Run
		for _, n := range sizes { // make all before reading the first: each run has neighbours
			r := f.create()
			ds := deliveries(0, n)
			for i := range ds {
				ds[i].Row = 2 * (n - int64(i))
			}
			f.ok(f.l.AppendRows(f.ctx, r.No, 0, ds, []campaign.Segment{{Run: r.No, Hi: n}}))
			runs = append(runs, r)
		}
		for i, r := range runs {
			var got, want []int64
			for l, err := range f.l.Lines(f.ctx, r.No) {
				f.ok(err)
				if l.Run != r.No || l.Row != 2*(sizes[i]-l.Seq) || l.Status != campaign.Queued {
					f.Fatalf("row %d is of run %d, seq %d, %s; want run %d, seq %d, queued", l.Row, l.Run, l.Seq, l.Status, r.No, sizes[i]-l.Row/2)
				}
				got = append(got, l.Row)
			}
			for row := range sizes[i] {
				want = append(want, 2*(row+1))
			}
			if !slices.Equal(got, want) {
				f.Errorf("run of %d: %d lines, want each row once, in their order", sizes[i], len(got))
			}
		}
	}},
	{"LanesComeByConnectionThenOwner", func(f *fixture) {
		before, r, after := f.imported(1), f.imported(1), f.imported(1)
		lane := func(no campaign.RunNo, connection string, rate float64) campaign.LaneReport {
			return campaign.LaneReport{Run: no, Connection: connection, LimitedBy: campaign.ByThroughput, Rate: rate, At: at(1)}
		}
		var want []campaign.LaneReport
		for _, owner := range []string{"two", "one"} {
			f.ok(f.l.ReportLanes(f.ctx, owner, []campaign.LaneReport{lane(before.No, "conn_1", 1), lane(r.No, "conn_2", 1), lane(r.No, "conn_1", 1),
				lane(after.No, "conn_1", 1), lane(r.No, "conn_2", 2)})) // the last report of a lane counts
		}
		for _, connection := range []string{"conn_1", "conn_2"} {
			for _, owner := range []string{"one", "two"} {
				l := lane(r.No, connection, map[string]float64{"conn_1": 1, "conn_2": 2}[connection])
				l.Owner = owner
				want = append(want, l)
			}
		}
		got, err := f.l.Lanes(f.ctx, r.No)
		f.ok(err)
		if d := cmp.Diff(want, got); d != "" {
			f.Errorf("lanes (-want +got):\n%s", d)
		}
	}},
}
