package ledgertest

import (
	"context"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// every makes a run whose deliveries have each status once, by seq: refused, in doubt, accepted,
// sent, delivered, read, failed, sending, deferred; 9 and 10 are queued above the mark.
func (f *fixture) every() (campaign.Run, campaign.Lease) {
	f.Helper()
	r, l := f.begun(11, 9)
	f.record(refusal(l, 0), doubtful(l, 1), acceptance(l, 2), acceptance(l, 3), acceptance(l, 4), acceptance(l, 5), acceptance(l, 6),
		deferral(l, 8, at(1000)))
	for seq, s := range map[int64]campaign.Status{3: campaign.Sent, 4: campaign.Delivered, 5: campaign.Read, 6: campaign.Failed} {
		f.apply(event(messageID(r.No, seq), key(seq), s, at(5)))
	}
	return r, l
}

// sentRows are the seqs of SentRows; each must have the key of its seq.
func (f *fixture) sentRows(no campaign.RunNo, filter campaign.SentFilter) (seqs []int64) {
	f.Helper()
	for row, err := range f.l.SentRows(f.ctx, no, filter) {
		f.ok(err)
		if row.Key != key(row.Seq) {
			f.Errorf("seq %d has the key %d; want %d", row.Seq, row.Key, key(row.Seq))
		}
		seqs = append(seqs, row.Seq)
	}
	return seqs
}

// leftOut makes a run that leaves out the people of other, a row for each of its first n, and
// returns the seqs that one intent skips.
func (f *fixture) leftOut(other campaign.Run, n int64) (seqs []int64) {
	f.Helper()
	r := f.imported(n, func(r *campaign.Run) { r.LeaveOut = true })
	f.repeats(r.No, other.No, n)
	return f.skips(f.lease(r.No, long), n)
}

// repeats says that two runs have the same first n people.
func (f *fixture) repeats(no, other campaign.RunNo, n int64) {
	f.Helper()
	var all []campaign.Repeat
	for seq := range n {
		all = append(all, campaign.Repeat{Run: no, Seq: seq, Other: other, OtherSeq: seq})
	}
	f.ok(f.l.AddRepeats(f.ctx, all))
	f.ok(f.l.AddRepeats(f.ctx, all))
}

// skips returns the seqs below n that an intent with LeaveOut skips.
func (f *fixture) skips(l campaign.Lease, n int64) (seqs []int64) {
	f.Helper()
	in := intent(l, 0, n)
	in.LeaveOut = true
	g := f.intend(in)
	if g.To != n {
		f.Errorf("granted to %d; want %d", g.To, n)
	}
	for seq := range n {
		if why, skipped := g.Skipped[seq]; skipped {
			if why != campaign.SentBefore {
				f.Errorf("seq %d was skipped for %q; want sent_before", seq, why)
			}
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

var repeatPromises = []promise{
	{"SentRowsAreThoseThatWereSentOrMayHaveBeen", func(f *fixture) {
		r, _ := f.every()
		for what, c := range map[string]struct {
			filter campaign.SentFilter
			want   []int64
		}{
			"sent":                 {campaign.SentFilter{}, []int64{1, 2, 3, 4, 5, 7}},
			"and queued":           {campaign.SentFilter{Queued: true}, []int64{1, 2, 3, 4, 5, 7, 8, 9, 10}},
			"and failed":           {campaign.SentFilter{Failed: true}, []int64{1, 2, 3, 4, 5, 6, 7}},
			"since their time":     {campaign.SentFilter{Since: at(1)}, []int64{1, 2, 3, 4, 5, 7}},
			"since a second later": {campaign.SentFilter{Since: at(2)}, []int64{7}},
		} {
			if d := cmp.Diff(c.want, f.sentRows(r.No, c.filter)); d != "" {
				f.Errorf("%s (-want +got):\n%s", what, d)
			}
		}
	}},
	{"SentRowsHaveTheSeqsOfEverySegment", func(f *fixture) {
		const n = campaign.SegmentSize + 3
		r := f.imported(n)
		if got := f.sentRows(r.No, campaign.SentFilter{Queued: true}); int64(len(got)) != n || got[n-1] != n-1 {
			f.Errorf("%d rows; want %d, the last one with its seq", len(got), int64(n))
		}
	}},
	{"AnIntentLeavesOutWhoGotTheTemplate", func(f *fixture) {
		other, _ := f.every()
		if d := cmp.Diff([]int64{1, 2, 3, 4, 5, 7, 8, 9, 10}, f.leftOut(other, 11)); d != "" {
			f.Errorf("left out, of a run that goes on (-want +got):\n%s", d)
		}
		f.cancel(other.No)
		if d := cmp.Diff([]int64{1, 2, 3, 4, 5, 7}, f.leftOut(other, 11)); d != "" {
			f.Errorf("left out, of a run that is to be cancelled (-want +got):\n%s", d)
		}
		r := f.imported(11, func(r *campaign.Run) { r.LeaveOut = true })
		f.repeats(r.No, other.No, 11)
		if g := f.intend(intent(f.lease(r.No, long), 0, 11)); len(g.Skipped) > 0 {
			f.Errorf("an intent without LeaveOut skipped %v; want none", g.Skipped)
		}
	}},
	{"OfTwoRunsThatLeaveOutEachOtherOneSends", func(f *fixture) {
		out := func(r *campaign.Run) { r.LeaveOut = true }
		for _, laterFirst := range []bool{true, false} {
			a, b := f.imported(4, out), f.imported(4, out)
			f.repeats(a.No, b.No, 4)
			f.repeats(b.No, a.No, 4)
			la, lb := f.lease(a.No, long), f.lease(b.No, long)
			var later []int64
			if laterFirst {
				later = f.skips(lb, 4)
			}
			if got := f.skips(la, 4); len(got) != 0 {
				f.Errorf("the earlier run skipped %v; want none", got)
			}
			if !laterFirst {
				later = f.skips(lb, 4)
			}
			if len(later) != 4 {
				f.Errorf("the later run skipped %v; want all 4", later)
			}
			f.sound(a.No)
			f.sound(b.No)
		}
	}},
	{"ARetryLeavesOutWhoGotTheTemplateMeanwhile", func(f *fixture) {
		r := f.imported(2, func(r *campaign.Run) { r.LeaveOut = true })
		l := f.lease(r.No, long)
		other := f.imported(2)
		f.repeats(r.No, other.No, 2)
		if got := f.skips(l, 2); len(got) != 0 {
			f.Errorf("before the later run sent: skipped %v; want none", got)
		}
		f.record(deferral(l, 0, at(2)), acceptance(l, 1))
		f.sent(f.lease(other.No, long), 0, 1)
		in := again(l, 2, 0, 2, campaign.Intent{Connection: "conn_1", LeaveOut: true})
		if g := f.intend(in); g.Skipped[0] != campaign.SentBefore {
			f.Errorf("the retry: %+v; want it skipped as sent_before", g)
		}
		f.status(r.No, 0, campaign.Skipped)
		f.sound(r.No)
	}},
	{"ARunIsStoredWithWhomItLeavesOut", func(f *fixture) {
		r := f.imported(1, func(r *campaign.Run) { r.LeaveOut = true })
		if plain := f.imported(1); !r.LeaveOut || plain.LeaveOut {
			f.Errorf("LeaveOut is %v, and %v of another run; want true and false", r.LeaveOut, plain.LeaveOut)
		}
		f.imported(1, func(r *campaign.Run) { r.Template = "other" })
		if runs, err := f.l.Runs(f.ctx, campaign.RunFilter{Template: "other"}); err != nil || len(runs) != 1 {
			f.Errorf("%d runs of the template, %v; want 1", len(runs), err)
		}
	}},
	{"RetentionForgetsRepeats", func(f *fixture) {
		r, other := f.over(10), f.imported(10)
		f.repeats(r.No, other.No, 10)
		f.repeats(other.No, r.No, 1)
		f.retires(later(), 10)
		if got, err := f.l.RepeatsOf(f.ctx, r.No, 1); err != nil || len(got) != 0 {
			f.Errorf("repeats of a row that was deleted: %v, %v; want none", got, err)
		}
		want := []campaign.Repeat{{Run: other.No, Seq: 0, Other: r.No, OtherSeq: 0}}
		got, err := f.l.RepeatsOf(f.ctx, other.No, 0)
		f.ok(err)
		if d := cmp.Diff(want, got); d != "" {
			f.Errorf("repeats of the other run (-want +got):\n%s", d)
		}
	}},
	{"RepeatsAreNotedOnce", func(f *fixture) {
		r := f.imported(1)
		for range 2 {
			f.ok(f.l.NoteRepeats(f.ctx, r.No, "1 of 1 got it"))
		}
		if d := cmp.Diff([]string{"state ready  ", "repeats   1 of 1 got it"}, f.told(r.No)); d != "" {
			f.Errorf("history (-want +got):\n%s", d)
		}
		f.wantNotified("ops run.repeats spring pending")
	}},
}

var repeatFaults = []faultyMethod{
	{"SentRows", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.imported(3)
		return func(ctx context.Context) (last error) {
			for _, err := range f.l.SentRows(ctx, r.No, campaign.SentFilter{Queued: true}) {
				last = err
			}
			return last
		}
	}},
	{"AddRepeats", func(f *fixture, _ Faults) func(context.Context) error {
		r, other := f.imported(3), f.imported(3)
		all := []campaign.Repeat{{Run: r.No, Seq: 1, Other: other.No, OtherSeq: 1}}
		return func(ctx context.Context) error { return f.l.AddRepeats(ctx, all) }
	}},
	{"RepeatsOf", func(f *fixture, _ Faults) func(context.Context) error {
		return func(ctx context.Context) error { _, err := f.l.RepeatsOf(ctx, 1, 1); return err }
	}},
	{"NoteRepeats", func(f *fixture, _ Faults) func(context.Context) error {
		r := f.imported(1)
		return func(ctx context.Context) error { return f.l.NoteRepeats(ctx, r.No, time.Now().String()) }
	}},
	{"IntendWithLeaveOut", func(f *fixture, _ Faults) func(context.Context) error {
		other := f.imported(4)
		r := f.imported(4, func(r *campaign.Run) { r.LeaveOut = true })
		f.repeats(r.No, other.No, 4)
		in := intent(f.lease(r.No, long), 0, 4)
		in.LeaveOut = true
		return func(ctx context.Context) error { _, err := f.l.Intend(ctx, []campaign.Intent{in}); return err }
	}},
}
