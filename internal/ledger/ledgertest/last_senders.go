package ledgertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// reached imports a run of n deliveries and lets a connection send them. The service accepts those
// in seqs, at(second). The segment stays open.
func (f *fixture) reached(connection string, second int, n int64, seqs ...int64) campaign.Lease {
	f.Helper()
	r := f.imported(n)
	ls := f.by(connection, r.No)
	if len(ls) != 1 {
		f.Fatalf("claimed %d segments, want 1", len(ls))
	}
	f.intend(over(connection, intent(ls[0], 0, n)))
	for seq := range n {
		result := refusal(ls[0], seq)
		if slices.Contains(seqs, seq) {
			result = acceptance(ls[0], seq)
		}
		result.At = at(second)
		f.record(result)
	}
	return ls[0]
}

// senders folds the senders, and compares which connection reached each recipient last.
func (f *fixture) senders(want map[int64]string, connections ...string) {
	f.Helper()
	f.ok(f.l.FoldSenders(f.ctx))
	got, err := f.l.LastSenders(f.ctx, keys(0, 600), connections)
	f.ok(err)
	if d := cmp.Diff(want, got); d != "" {
		f.Errorf("last senders (-want +got):\n%s", d)
	}
}

// bindsTo imports a run with one segment bound to a connection.
func (f *fixture) bindsTo(connection string, n int64) campaign.Run {
	f.Helper()
	r := f.create()
	f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, n), []campaign.Segment{{Run: r.No, Hi: n, Bound: connection}}))
	f.ok(f.l.FinishImport(f.ctx, r.No, n, campaign.Ready))
	return r
}

var senderPromises = []promise{
	{"TheLastSenderIsRemembered", func(f *fixture) {
		both := []string{"conn_1", "conn_2"}
		f.senders(map[int64]string{}, both...)
		l := f.reached("conn_1", 10, 4, 0, 1, 2)
		f.senders(map[int64]string{key(0): "conn_1", key(1): "conn_1", key(2): "conn_1"}, both...)
		f.ended(l)
		f.reached("conn_2", 20, 3, 1)
		f.reached("conn_1", 5, 3, 1) // an older acceptance changes nothing
		f.reached("conn_3", 30, 1, 0)
		f.senders(map[int64]string{key(0): "conn_1", key(1): "conn_2", key(2): "conn_1"}, both...)
		f.senders(map[int64]string{key(0): "conn_3", key(1): "conn_1", key(2): "conn_1"}, "conn_1", "conn_3")
		f.senders(map[int64]string{key(1): "conn_2"}, "conn_2")
		f.senders(map[int64]string{}, "conn_9")
	}},
	{"ASegmentThatIsBeingSentIsReadAgain", func(f *fixture) {
		_, l := f.begun(2, 2)
		f.record(acceptance(l, 0))
		f.senders(map[int64]string{key(0): "conn_1"}, "conn_1")
		f.record(acceptance(l, 1))
		f.senders(map[int64]string{key(0): "conn_1", key(1): "conn_1"}, "conn_1")
	}},
	{"AFailedMessageReachedNobody", func(f *fixture) {
		l := f.reached("conn_1", 10, 2, 0, 1)
		e := event(messageID(l.Run, 0), key(0), campaign.Failed, at(11))
		e.Code = "131026"
		f.apply(e, event(messageID(l.Run, 1), key(1), campaign.Delivered, at(11)))
		f.senders(map[int64]string{key(1): "conn_1"}, "conn_1")
	}},
	{"ThePartsOfAMovedSegmentHaveTheirSenders", func(f *fixture) {
		r := f.split()
		m := f.by("conn_2", r.No)[0]
		f.intend(over("conn_2", intent(m, 1, 2)))
		f.record(acceptance(m, 1))
		f.senders(map[int64]string{key(0): "conn_1", key(1): "conn_2"}, "conn_1", "conn_2")
	}},
	{"SendersOfManySegments", func(f *fixture) {
		r := f.spread(5)
		want := map[int64]string{}
		for _, l := range f.claim(r.No, long, 9) {
			f.sent(l, l.Lo, l.Hi)
			for seq := l.Lo; seq < l.Hi; seq++ {
				f.record(acceptance(l, seq))
				want[key(seq)] = "conn_1"
			}
			f.ended(l)
		}
		f.ok(f.l.FoldSenders(f.ctx))
		f.ok(f.l.FoldSenders(f.ctx))
		var all []int64
		for k := range want {
			all = append(all, k)
		}
		got, err := f.l.LastSenders(f.ctx, all, []string{"conn_1"})
		f.ok(err)
		if d := cmp.Diff(want, got); d != "" {
			f.Errorf("last senders (-want +got):\n%s", d)
		}
	}},
	{"ABoundSegmentIsOfItsConnectionAlone", func(f *fixture) {
		r := f.bindsTo("conn_2", 3)
		if ss, err := f.l.SegmentStates(f.ctx, r.No); err != nil || len(ss) != 1 || ss[0].Bound != "conn_2" || ss[0].Connection != "conn_2" {
			f.Fatalf("segments %+v, %v; want one, bound to conn_2", ss, err)
		}
		f.none("by another connection", f.by("conn_1", r.No))
		ls := f.by("conn_2", r.No)
		if len(ls) != 1 || ls[0].Bound != "conn_2" || ls[0].Recovered {
			f.Fatalf("conn_2 claimed %+v; want one, bound, never owned", ls)
		}
		if _, err := f.l.Intend(f.ctx, []campaign.Intent{intent(ls[0], 0, 1)}); err == nil {
			f.Errorf("an intent over conn_1: no error; want one")
		}
		for _, to := range []string{"", "conn_1"} {
			if ok, err := f.l.Move(f.ctx, ls[0], to); ok || err != nil {
				f.Errorf("moved to %q: %v, %v; want false", to, ok, err)
			}
		}
		f.intend(over("conn_2", intent(ls[0], 0, 1)))
		f.ok(f.l.Release(f.ctx, ls[0], []int64{0}))
		f.none("by another connection", f.by("conn_1", r.No))
		if ls := f.by("conn_2", r.No); len(ls) != 1 || ls[0].Bound != "conn_2" {
			f.Errorf("conn_2 claimed %+v; want it again, bound", ls)
		}
	}},
	{"BoundSegmentsHideNoEvidence", func(f *fixture) {
		l := f.reached("conn_1", 10, 1, 0)
		f.apply(event(messageID(l.Run, 0), key(0), campaign.Sent, at(11)))
		r := f.create()
		var ds []campaign.Delivery
		var ss []campaign.Segment
		for i := range int64(70) { // more than Heard looks at
			d := deliveries(i, i+1)[0]
			d.Seq = i * campaign.SegmentSize
			ds = append(ds, d)
			ss = append(ss, campaign.Segment{Run: r.No, Index: i, Lo: d.Seq, Hi: d.Seq + 1, Bound: "conn_1"})
		}
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, ds, ss))
		f.ok(f.l.FinishImport(f.ctx, r.No, 70, campaign.Ready))
		if heard, err := f.l.Heard(f.ctx, "conn_1", at(0)); !heard || err != nil {
			f.Errorf("heard %v, %v; want true", heard, err)
		}
	}},
	{"SendersAreForgottenWithTheDeliveries", func(f *fixture) {
		old := f.reached("conn_1", 10, 2, 0, 1)
		f.ended(old)
		f.done(f.l.FinishRuns(f.ctx))
		before := f.between()
		f.ended(f.reached("conn_2", 20+int(time.Since(noon).Seconds()), 2, 1))
		f.ok(f.l.FoldSenders(f.ctx))
		f.retires(before, 2)
		f.senders(map[int64]string{key(1): "conn_2"}, "conn_1", "conn_2")
		f.senders(map[int64]string{}, "conn_1")
	}},
	{"ABoundSegmentIsDroppedWithItsRun", func(f *fixture) {
		r := f.bindsTo("conn_2", 3)
		f.cancel(r.No)
		ls := f.claimCancelled(false, r.No)
		if len(ls) != 1 || ls[0].Bound != "conn_2" {
			f.Fatalf("claimed %+v; want the bound segment", ls)
		}
		if n, err := f.l.SkipQueued(f.ctx, ls[0], campaign.RunCancelled); n != 3 || err != nil {
			f.Errorf("skipped %d, %v; want 3", n, err)
		}
	}},
}

// MovedWhatIsBound reports whether a move takes a segment from the connection that it is bound to.
func MovedWhatIsBound(t *testing.T, l campaign.Ledger) bool {
	t.Helper()
	f := &fixture{T: t, l: l, ctx: t.Context()}
	r := f.bindsTo("conn_2", 1)
	ok, err := l.Move(t.Context(), f.by("conn_2", r.No)[0], "")
	return ok && err == nil
}

var errNoSenders = errors.New("the senders are not those that were folded")

var senderFaults = []faultyMethod{
	{"FoldSenders", func(f *fixture, _ Faults) func(context.Context) error {
		f.ok(f.l.FoldSenders(f.ctx)) // one segment is left: the call commits after each
		f.ids++
		l := f.reached("conn_1", f.ids, 3, 0, 2)
		f.ended(l)
		return func(ctx context.Context) error { return f.l.FoldSenders(ctx) }
	}},
	{"LastSenders", func(f *fixture, _ Faults) func(context.Context) error {
		f.reached("conn_1", 1, 3, 0, 2)
		f.ok(f.l.FoldSenders(f.ctx))
		return func(ctx context.Context) error {
			by, err := f.l.LastSenders(ctx, keys(0, 40), []string{"conn_1"})
			if err == nil && by[key(2)] != "conn_1" {
				err = errNoSenders
			}
			return err
		}
	}},
}
