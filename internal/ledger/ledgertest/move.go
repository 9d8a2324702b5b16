package ledgertest

import (
	"errors"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"

	"github.com/google/go-cmp/cmp"
)

// by claims one segment of a run for a connection.
func (f *fixture) by(connection string, no campaign.RunNo, change ...func(*campaign.Claim)) []campaign.Lease {
	f.Helper()
	c := campaign.Claim{Owner: "b", Connection: connection, Runs: []campaign.RunNo{no}, Max: 1, Lease: long}
	for _, x := range change {
		x(&c)
	}
	ls, err := f.l.Claim(f.ctx, c)
	f.ok(err)
	return ls
}

// split makes a run of two deliveries. conn_1 sends the first, and their segment is then moved to
// conn_2.
func (f *fixture) split() campaign.Run {
	f.Helper()
	r, l := f.begun(2, 1)
	f.record(acceptance(l, 0))
	f.moved(l, "conn_2")
	return r
}

// moved moves the segment away from its connection, and fails unless the ledger does so.
func (f *fixture) moved(l campaign.Lease, to string) {
	f.Helper()
	if ok, err := f.l.Move(f.ctx, l, to); err != nil || !ok {
		f.Fatalf("moved %v, %v; want true", ok, err)
	}
}

var segmentMovePromises = []promise{
	{"AMoveKeepsWhoSentWhat", func(f *fixture) {
		r, l := f.begun(6, 4)
		lost := doubtful(l, 2)
		lost.IntentAt, lost.At = at(0), at(1)
		f.record(acceptance(l, 0), deferral(l, 1, at(2)), lost, refusal(l, 3))
		f.moved(l, "")
		if g := f.intend(intent(l, 4, 5)); !g.Fenced {
			f.Errorf("an intent of the old owner: %+v; want Fenced", g)
		}
		ls := f.by("conn_2", r.No)
		if len(ls) != 1 || ls[0].Mark != 4 || ls[0].Connection != "" || !ls[0].Moved || !ls[0].Recovered {
			f.Fatalf("claimed %+v; want one, without a connection, moved, at mark 4", ls)
		}
		m := ls[0]
		if n, err := f.l.Recover(f.ctx, m, at(100)); err != nil || n != 0 {
			f.Errorf("recovered %d, %v; want none", n, err)
		}
		for _, in := range []campaign.Intent{over("conn_2", intent(m, 4, 6)), over("conn_2", retry(m, 6, 1, 2))} {
			if g := f.intend(in); g.Denied || g.Fenced || len(g.Skipped) > 0 {
				f.Fatalf("over the other connection: %+v; want granted", g)
			}
		}
		again := acceptance(m, 1)
		again.Attempt = 2
		f.record(again, acceptance(m, 4), acceptance(m, 5))
		if a := f.apply(event("wamid.lost", key(2), campaign.Sent, at(1))); a.Orphaned != 1 {
			f.Fatalf("applied %+v; want one orphan", a)
		}
		if s := f.sweep(); s.Adopted != 1 { // its event names the connection that sent it
			f.Errorf("swept %+v; want one adopted", s)
		}
		got := map[int64]string{}
		for seq, line := range f.lines(r.No) {
			got[seq] = line.Connection
		}
		want := map[int64]string{0: "conn_1", 1: "conn_2", 2: "conn_1", 3: "conn_1", 4: "conn_2", 5: "conn_2"}
		if d := cmp.Diff(want, got); d != "" {
			f.Errorf("connections (-want +got):\n%s", d)
		}
		for _, done := range []bool{false, true} {
			if d := cmp.Diff(map[string]int64{"conn_1": 2, "conn_2": 3}, f.spent(noon)); d != "" {
				f.Errorf("spent, done %v (-want +got):\n%s", done, d)
			}
			if !done {
				f.done(f.l.Park(f.ctx, m, time.Time{}, After(time.Minute)))
			}
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 4, campaign.Sent: 1, campaign.Refused: 1})
		f.sound(r.No)
	}},
	{"AMoveIsFenced", func(f *fixture) {
		r, l := f.leased(2, gone)
		next := f.lease(r.No, long)
		if ok, err := f.l.Move(f.ctx, l, "conn_2"); ok || !errors.Is(err, campaign.ErrFenced) {
			f.Errorf("moved by a former owner: %v, %v; want ErrFenced", ok, err)
		}
		f.sent(next, 0, 1)
	}},
	{"AMoveWaitsForResults", func(f *fixture) {
		_, l := f.begun(3, 1)
		still := func(why string) {
			f.Helper()
			if ok, err := f.l.Move(f.ctx, l, ""); ok || err != nil {
				f.Fatalf("moved %v, %v; want false: %s", ok, err, why)
			}
		}
		still("a delivery has no result")
		f.record(deferral(l, 0, at(0)))
		f.sentRetry(l, 1, 0, 2)
		still("a retry has no result")
		f.sent(l, 1, 2) // a refused move leaves the lease as it was
		last := acceptance(l, 0)
		last.Attempt = 2
		f.record(last, acceptance(l, 1))
		f.moved(l, "")
	}},
	{"AMoveMayNameTheNextConnection", func(f *fixture) {
		r := f.split()
		f.none("by the old connection", f.by("conn_1", r.No))
		if ls := f.by("conn_2", r.No); len(ls) != 1 || ls[0].Connection != "conn_2" {
			f.Errorf("the new connection claimed %+v; want one of its own", ls)
		}
		if ss, err := f.l.SegmentStates(f.ctx, r.No); err != nil || len(ss) != 1 || ss[0].Moved != 1 {
			f.Errorf("segments %+v, %v; want one, moved once", ss, err)
		}
	}},
	{"MovesCountTheRowsOfEachConnection", func(f *fixture) {
		r, l := f.begun(6, 2)
		f.record(acceptance(l, 0), deferral(l, 1, at(2)))
		f.moved(l, "conn_2") // 4 above the mark, and the deferred one
		l = f.by("conn_2", r.No)[0]
		f.intend(over("conn_2", intent(l, 2, 4)))
		f.record(acceptance(l, 2), acceptance(l, 3))
		f.moved(l, "")
		moves := func(last string) {
			f.Helper()
			ss, err := f.l.SegmentStates(f.ctx, r.No)
			f.ok(err)
			want := map[string]wording.MovedRows{
				"conn_1": {Connection: "conn_1", GaveAway: 5}, "conn_2": {Connection: "conn_2", Given: 5, GaveAway: 3},
				last: {Connection: last, Given: 3},
			}
			got := map[string]wording.MovedRows{}
			for _, m := range wording.RowsMoved(ss) {
				got[m.Connection] = m
			}
			if d := cmp.Diff(want, got); d != "" {
				f.Errorf("moved (-want +got):\n%s", d)
			}
		}
		moves("")
		l = f.by("conn_3", r.No)[0]
		f.intend(over("conn_3", intent(l, 4, 5)))
		moves("conn_3")
	}},
	{"AClaimOfTheSameConnectionTakesNoOther", func(f *fixture) {
		r := f.imported(2)
		same := func(c *campaign.Claim) { c.SameConnection = true }
		f.none("of a segment without a connection", f.by("conn_2", r.No, same))
		l := f.lease(r.No, long)
		f.moved(l, "conn_2")
		if ls := f.by("conn_2", r.No, same); len(ls) != 1 {
			f.Errorf("claimed %+v; want the one of the connection", ls)
		}
	}},
	{"AFailureHoldsTheConnectionThatSentIt", func(f *fixture) {
		r := f.split()
		e := event(messageID(r.No, 0), key(0), campaign.Failed, time.Now())
		e.Code = "131031"
		f.apply(e)
		holds, err := f.l.Holds(f.ctx, false)
		f.ok(err)
		if len(holds) != 1 || holds[0].ID != Origin("conn_1").Account {
			f.Errorf("holds %+v; want one of conn_1", holds)
		}
	}},
}

// MovedByAFormerOwner reports whether a former owner, whose lease has ended, can move a segment
// that has a new owner.
func MovedByAFormerOwner(t *testing.T, l campaign.Ledger) bool {
	t.Helper()
	f := &fixture{T: t, l: l, ctx: t.Context()}
	r, old := f.leased(1, gone)
	f.lease(r.No, long)
	ok, err := l.Move(t.Context(), old, "conn_2")
	return ok && err == nil
}

// MovedWhatWasSent reports whether a move also gives the new connection the deliveries that the
// former one sent.
func MovedWhatWasSent(t *testing.T, l campaign.Ledger) bool {
	t.Helper()
	f := &fixture{T: t, l: l, ctx: t.Context()}
	r := f.split()
	return f.lines(r.No)[0].Connection != "conn_1"
}
