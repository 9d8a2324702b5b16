package ledgertest

import (
	"errors"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

var importPromises = []promise{
	{"AppendRowsKeepsEveryFieldOfADelivery", func(f *fixture) {
		r := f.create()
		rows := []campaign.Delivery{
			{Seq: 0, Row: 2, To: "+2348030000001", Key: 2348030000001, Cells: []string{"Ada", "a,\"b\"\nc <&>", ""}},
			{Seq: campaign.SegmentSize, Row: 1, To: "not a number", Cells: []string{"x"}, Skip: campaign.InvalidPhone, Note: "line 2: letters"},
		}
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, rows, []campaign.Segment{{Run: r.No, Index: 0, Lo: 0, Hi: 1, Group: "Africa/Lagos"},
			{Run: r.No, Index: 1, Lo: campaign.SegmentSize, Hi: campaign.SegmentSize + 1, Closed: true}}))
		f.ok(f.l.FinishImport(f.ctx, r.No, 2, campaign.WaitingApproval))
		if got := f.run(r.No); got.State != campaign.WaitingApproval || got.Rows != 2 {
			f.Errorf("got %+v; want State WaitingApproval, Rows 2", got)
		}
		ds, err := f.l.Deliveries(f.ctx, r.No, 0, 2*campaign.SegmentSize)
		f.ok(err)
		rows[0].Run = r.No
		if d := cmp.Diff(rows[:1], ds); d != "" {
			f.Errorf("deliveries without an outcome: %s", d)
		}
		var order []int64
		for l, err := range f.l.Lines(f.ctx, r.No) {
			f.ok(err)
			order = append(order, l.Row)
			if l.Row == 1 && (l.Status != campaign.Skipped || l.Skip != campaign.InvalidPhone || l.Note != "line 2: letters" ||
				l.To != "not a number" || l.Connection != "") {
				f.Errorf("got %+v, want row 1 skipped as InvalidPhone, with its note and text", l)
			}
		}
		if d := cmp.Diff([]int64{1, 2}, order); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		ss, err := f.l.SegmentStates(f.ctx, r.No)
		f.ok(err)
		if len(ss) != 2 || ss[0].Group != "Africa/Lagos" || ss[0].Done || !ss[1].Done || !ss[1].Closed || ss[1].Lo != campaign.SegmentSize {
			f.Errorf(`segments: %+v; want length 2, Group "Africa/Lagos", not Done, Done, Closed, Lo SegmentSize`, ss)
		}
		f.sound(r.No)
	}},
	{"SegmentsAfterTheCanaryWaitForTheirRelease", func(f *fixture) {
		r := f.create()
		second := int64(campaign.SegmentSize)
		segments := []campaign.Segment{{Run: r.No, Lo: 0, Hi: 2}, {Run: r.No, Index: 1, Lo: second, Hi: second + 2, AfterCanary: true}}
		rows := append(deliveries(0, 2), deliveries(second, second+2)...)
		rows[2].Row, rows[3].Row = 3, 4
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, rows, segments))
		grown := deliveries(second+2, second+3)
		grown[0].Row, segments[1].Hi = 5, second+3
		f.ok(f.l.AppendRows(f.ctx, r.No, 4, grown, segments[1:]))
		f.ok(f.l.FinishImport(f.ctx, r.No, 5, campaign.Ready))
		waits := func() (all []bool) {
			ss, err := f.l.SegmentStates(f.ctx, r.No)
			f.ok(err)
			for _, s := range ss {
				all = append(all, s.AfterCanary)
			}
			return all
		}
		if d := cmp.Diff([]bool{false, true}, waits()); d != "" {
			f.Errorf("segments that wait: -want +got:\n%s", d)
		}
		if ls := f.claim(r.No, long, 9); len(ls) != 1 || ls[0].Index != 0 {
			f.Errorf("before the release %+v could be claimed, want segment 0", ls)
		}
		if rs, err := f.l.FinishRuns(f.ctx); err != nil || len(rs) != 0 {
			f.Errorf("ended %+v, %v; want none", rs, err)
		}
		for range 2 {
			f.ok(f.l.ReleaseCanary(f.ctx, r.No, "", ""))
		}
		if d := cmp.Diff([]bool{false, false}, waits()); d != "" {
			f.Errorf("segments that wait: -want +got:\n%s", d)
		}
		if ls := f.claim(r.No, long, 9); len(ls) != 1 || ls[0].Index != 1 || ls[0].Hi != second+3 {
			f.Errorf("after the release %+v could be claimed, want segment 1", ls)
		}
		f.sound(r.No)
	}},
	{"AppendRowsFencesASecondImporter", func(f *fixture) {
		r := f.create()
		seg := func(hi int64) []campaign.Segment { return []campaign.Segment{{Run: r.No, Lo: 0, Hi: hi}} }
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 2), seg(2)))
		if err := f.l.AppendRows(f.ctx, r.No, 0, deliveries(2, 3), seg(3)); !errors.Is(err, campaign.ErrFenced) {
			f.Errorf("an importer that is behind: %v; want ErrFenced", err)
		}
		f.ok(f.l.AppendRows(f.ctx, r.No, 2, deliveries(2, 5), seg(5)))
		if err := f.l.AppendRows(f.ctx, r.No, 2, deliveries(2, 5), seg(5)); !errors.Is(err, campaign.ErrFenced) {
			f.Errorf("the same chunk again: %v; want ErrFenced", err)
		}
		ss, err := f.l.SegmentStates(f.ctx, r.No)
		f.ok(err)
		if got := f.run(r.No); got.Rows != 5 || len(ss) != 1 || ss[0].Hi != 5 {
			f.Errorf("rows %d, segments %+v; want Rows 5, length 1, Hi 5", got.Rows, ss)
		}
		f.ok(f.l.FinishImport(f.ctx, r.No, 5, campaign.Ready))
		if err := f.l.AppendRows(f.ctx, r.No, 5, deliveries(5, 6), seg(6)); !errors.Is(err, campaign.ErrFenced) {
			f.Errorf("a chunk after the end: %v; want ErrFenced", err)
		}
	}},
	{"AChunkIsAllOrNothing", func(f *fixture) {
		r := f.create()
		rows := deliveries(0, 100)
		rows[99].Row = 1 // the same row as the first: it cannot be stored
		if err := f.l.AppendRows(f.ctx, r.No, 0, rows, []campaign.Segment{{Run: r.No, Hi: 100}}); err == nil {
			f.Fatal("two deliveries of one row were stored")
		}
		ss, err := f.l.SegmentStates(f.ctx, r.No)
		f.ok(err)
		if n := len(f.lines(r.No)); n != 0 || len(ss) != 0 || f.run(r.No).Rows != 0 {
			f.Errorf("%d rows and %d segments stayed; want 0, length 0, Rows 0", n, len(ss))
		}
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 100), []campaign.Segment{{Run: r.No, Hi: 100}}))
	}},
	{"NothingIsClaimedBeforeTheImportEnds", func(f *fixture) {
		r := f.create()
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 2), []campaign.Segment{{Run: r.No, Hi: 2}}))
		f.none("while importing", f.claim(r.No, long, 1))
		if c := f.counts(r.No); c[campaign.Queued] != 2 {
			f.Errorf("counts %v; want Queued: 2", c)
		}
		f.ok(f.l.FinishImport(f.ctx, r.No, 2, campaign.WaitingApproval))
		f.none("before approval", f.claim(r.No, long, 1))
	}},
	{"FinishImportVerifiesTheRows", func(f *fixture) {
		r := f.create()
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 2), []campaign.Segment{{Run: r.No, Hi: 2}}))
		if err := f.l.FinishImport(f.ctx, r.No, 3, campaign.Ready); err == nil {
			f.Error("an import of 2 rows of 3 was finished")
		}
		f.ok(f.l.FinishImport(f.ctx, r.No, 2, campaign.Ready))
		f.ok(f.l.FinishImport(f.ctx, r.No, 2, campaign.WaitingApproval))
		if got := f.run(r.No); got.State != campaign.Ready {
			f.Errorf("a second call is a no-op: %s; want State Ready", got.State)
		}
	}},
	{"FinishImportRefusesANumberQueuedTwice", func(f *fixture) {
		r := f.create()
		rows := deliveries(0, 4)
		rows[3].Key = rows[0].Key
		rows[2].Key, rows[2].Skip = rows[1].Key, campaign.Duplicate
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, rows, []campaign.Segment{{Run: r.No, Hi: 4}}))
		if err := f.l.FinishImport(f.ctx, r.No, 4, campaign.Ready); err == nil {
			f.Error("row 4 would get the run twice")
		}
		ps, _, err := f.l.Audit(f.ctx, r.No, 10)
		f.ok(err)
		if len(ps) != 1 || ps[0].Row != 4 || ps[0].Seq != 3 {
			f.Errorf("audit: %+v", ps)
		}
	}},
}
