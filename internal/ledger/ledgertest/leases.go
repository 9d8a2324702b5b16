package ledgertest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	diff "github.com/google/go-cmp/cmp"
)

// segmentState reads the segment with this index.
func (f *fixture) segmentState(no campaign.RunNo, index int) campaign.SegmentState {
	f.Helper()
	ss, err := f.l.SegmentStates(f.ctx, no)
	f.ok(err)
	if index >= len(ss) {
		f.Fatalf("run %d has %d segments, want more than %d", no, len(ss), index)
	}
	return ss[index]
}

var leasePromises = []promise{
	{"ClaimLeasesEachSegmentOnce", func(f *fixture) {
		r := f.imported(2*campaign.SegmentSize + 5)
		before := time.Now()
		first := f.claim(r.No, long, 2)
		rest := f.claim(r.No, long, 9)
		none := f.claim(r.No, long, 9)
		if len(first) != 2 || len(rest) != 1 || len(none) != 0 {
			f.Fatalf("claimed %d, %d, %d segments of 3; want length 2, length 1, length 0", len(first), len(rest), len(none))
		}
		l := rest[0]
		if l.Run != r.No || l.Index != 2 || l.Lo != 2*campaign.SegmentSize || l.Hi != l.Lo+5 || l.Mark != l.Lo || l.Epoch != 1 || l.Recovered ||
			l.Connection != "" {
			f.Errorf(`lease %+v; want Run %+v, Index 2, Lo %+v, Hi %+v, Mark %+v, Epoch 1, not Recovered, Connection ""`, l, r.No,
				2*campaign.SegmentSize, l.Lo+5, l.Lo)
		}
		if l.Until.Before(before.Add(long)) || l.Until.After(time.Now().Add(long)) {
			f.Errorf("until %s; want Until not before %+v, Until not after %+v", l.Until, before.Add(long), time.Now().Add(long))
		}
		if got := f.run(r.No); got.State != campaign.Running || got.StartedAt.IsZero() {
			f.Errorf("a claimed run is %s; want State Running, StartedAt set", got.State)
		}
		s := f.segmentState(r.No, 2)
		if s.Owner != "a" || s.Epoch != 1 || s.LeaseUntil.Before(before) || s.Mark != l.Lo {
			f.Errorf(`segment %+v; want Owner "a", Epoch 1, LeaseUntil not before %+v, Mark %+v`, s, before, l.Lo)
		}
	}},
	{"ClaimTakesOnlyTheNamedRunsInTheirOrder", func(f *fixture) {
		a, b, c := f.imported(1), f.imported(1), f.imported(1)
		ls, err := f.l.Claim(f.ctx, campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{c.No, 99, a.No}, Max: 2, Lease: long})
		f.ok(err)
		if len(ls) != 2 || ls[0].Run != c.No || ls[1].Run != a.No {
			f.Errorf("claimed %+v; want runs %d and %d", ls, c.No, a.No)
		}
		if f.run(b.No).State != campaign.Ready {
			f.Error("a run that was not named runs")
		}
		ls, err = f.l.Claim(f.ctx, campaign.Claim{Owner: "a", Connection: "conn_1", Max: 2, Lease: long})
		f.ok(err)
		if len(ls) != 0 {
			f.Errorf("no run named, claimed %+v; want length 0", ls)
		}
	}},
	{"ClaimOfTheBegunTakesOnlyWhatWasOwnedBefore", func(f *fixture) {
		r := f.imported(2*campaign.SegmentSize + 5)
		begun := campaign.Claim{Owner: "b", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Begun: true, Max: 9, Lease: long}
		if ls, err := f.l.Claim(f.ctx, begun); err != nil || len(ls) != 0 {
			f.Errorf("nothing was begun, claimed %+v, %v; want no error, length 0", ls, err)
		}
		dead := f.lease(r.No, gone)
		f.sent(dead, 0, 3)
		live := f.claim(r.No, long, 2) // the dead owner's segment, which has the connection, and a new one
		if len(live) != 2 || live[0].Index != dead.Index {
			f.Fatalf("claimed %+v; want length 2, Index %+v", live, dead.Index)
		}
		if ls, err := f.l.Claim(f.ctx, begun); err != nil || len(ls) != 0 {
			f.Errorf("what was begun is owned, claimed %+v, %v; want no error, length 0", ls, err)
		}
		f.ok(f.l.Release(f.ctx, live[0], nil))
		if ls, err := f.l.Claim(f.ctx, begun); err != nil || len(ls) != 1 || ls[0].Index != dead.Index || !ls[0].Recovered {
			f.Errorf("after a release claimed %+v, %v; want no error, length 1, Index %+v, Recovered", ls, err, dead.Index)
		}
	}},
	{"FreeSegmentsTellWhatAClaimWouldTake", func(f *fixture) {
		a, b := f.imported(2*campaign.SegmentSize+5), f.imported(1)
		check := func(when string, want ...campaign.FreeSegment) {
			f.Helper()
			got, err := f.l.FreeSegments(f.ctx, []campaign.RunNo{b.No, 99, a.No})
			f.ok(err)
			slices.SortFunc(got, func(x, y campaign.FreeSegment) int {
				return cmp.Compare(fmt.Sprint(x), fmt.Sprint(y))
			})
			if d := diff.Diff(want, got); d != "" {
				f.Errorf("%s: (-want +got)\n%s", when, d)
			}
		}
		other, fresh := campaign.FreeSegment{Run: b.No}, campaign.FreeSegment{Run: a.No}
		any, mine := campaign.FreeSegment{Run: a.No, Begun: true}, campaign.FreeSegment{Run: a.No, Connection: "conn_1", Begun: true}
		check("nothing was begun", fresh, other)
		f.ok(f.l.Release(f.ctx, f.claim(a.No, long, 1)[0], nil))
		check("one of three had an owner", fresh, any, other)
		leases := f.claim(a.No, long, 3)
		check("all of a run is owned", other)
		f.sent(leases[0], 0, 3)
		f.sent(leases[1], leases[1].Lo, leases[1].Lo+1)
		for _, l := range leases {
			f.ok(f.l.Release(f.ctx, l, nil))
		}
		check("two have the connection, and one has none", any, mine, other)
		if got, err := f.l.FreeSegments(f.ctx, nil); err != nil || len(got) > 0 {
			f.Errorf("of no run: %+v, %v; want no error, length 0", got, err)
		}
		leases = f.claim(a.No, long, 2)
		check("those of the connection are owned again", any, other)
		_, err := f.l.Recover(f.ctx, leases[0], at(1))
		f.ok(err)
		_, err = f.l.Park(f.ctx, leases[0], time.Now().Add(time.Hour), After(time.Hour))
		f.ok(err)
		check("one waits for its time", any, other)
	}},
	{"ClaimTakesNothingOfARunThatIsPausedOrEnded", func(f *fixture) {
		r := f.imported(1)
		for _, s := range []campaign.State{campaign.Paused, campaign.RunStateFailed} {
			f.done(f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Ready, campaign.Paused}, s, "", ""))
			f.none("of a run that is "+string(s), f.claim(r.No, long, 1))
		}
	}},
	{"ClaimLeavesSegmentsOfOtherConnections", func(f *fixture) {
		r, l := f.leased(1, gone)
		f.sent(l, 0, 1)
		ls, err := f.l.Claim(f.ctx, campaign.Claim{Owner: "b", Connection: "conn_2", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: long})
		f.ok(err)
		if len(ls) != 0 {
			f.Errorf("another connection claimed %+v; want length 0", ls)
		}
		ls = f.claim(r.No, long, 1)
		if len(ls) != 1 || ls[0].Connection != "conn_1" || !ls[0].Recovered || ls[0].Mark != 1 {
			f.Errorf(`its own claimed %+v; want length 1, Connection "conn_1", Recovered, Mark 1`, ls)
		}
	}},
	{"ClosedAndFinishedSegmentsAreNeverClaimed", func(f *fixture) {
		r := f.create()
		d := deliveries(0, 1)
		d[0].Skip = campaign.Duplicate
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, d, []campaign.Segment{{Run: r.No, Hi: 1, Closed: true}}))
		f.ok(f.l.FinishImport(f.ctx, r.No, 1, campaign.Ready))
		f.none("of a closed segment", f.claim(r.No, long, 1))
		f.sound(r.No)
	}},
	{"AnExpiredLeaseIsTakenOverAndItsOwnerFenced", func(f *fixture) {
		r, old := f.leased(4, gone)
		f.sent(old, 0, 2)
		l := f.lease(r.No, long)
		if l.Epoch != old.Epoch+1 || !l.Recovered || l.Mark != 2 {
			f.Fatalf("taken over: %+v; want Epoch %+v, Recovered, Mark 2", l, old.Epoch+1)
		}
		if g := f.intend(intent(old, 2, 4)); !g.Fenced {
			f.Errorf("the old owner's intent: %+v; want Fenced", g)
		}
		if ls, err := f.l.Renew(f.ctx, []campaign.Lease{old, l}, long); err != nil || len(ls) != 1 || ls[0].Epoch != l.Epoch {
			f.Errorf("renewed %+v, %v; want no error, length 1, Epoch %+v", ls, err, l.Epoch)
		}
		_, err := f.l.Recover(f.ctx, old, at(1))
		_, err2 := f.l.Resolve(f.ctx, old, reception.Span{Until: at(999)}, campaign.UncertainResend)
		_, err3 := f.l.SkipQueued(f.ctx, old, campaign.Expired)
		_, err4 := f.l.Park(f.ctx, old, time.Time{}, After(time.Minute))
		for i, err := range []error{err, err2, err3, err4, f.l.Release(f.ctx, old, []int64{0, 1})} {
			if !errors.Is(err, campaign.ErrFenced) {
				f.Errorf("decision %d of the old owner: %v, want ErrFenced", i, err)
			}
		}
		c := f.counts(r.No)
		if c[campaign.InDoubt] != 2 || c[campaign.Queued] != 2 {
			f.Errorf("counts %v; want InDoubt: 2, Queued: 2", c)
		}
	}},
	{"RenewProlongsAndSaysUntilWhen", func(f *fixture) {
		r, l := f.leased(1, gone)
		before := time.Now()
		ls, err := f.l.Renew(f.ctx, []campaign.Lease{l}, long)
		f.ok(err)
		if len(ls) != 1 || ls[0].Until.Before(before.Add(long)) {
			f.Fatalf("got %+v; want length 1, Until not before %+v", ls, before.Add(long))
		}
		if more := f.claim(r.No, long, 1); len(more) != 0 {
			f.Errorf("a renewed lease was taken: %+v; want length 0", more)
		}
	}},
	{"RecoverTurnsWhatHasNoResultIntoDoubt", func(f *fixture) {
		r, l := f.leased(6, gone)
		f.sent(l, 0, 4)
		f.record(acceptance(l, 0), refusal(l, 1), deferral(l, 2, at(0)))
		f.sentRetry(l, 4, 2, 2)
		l2 := f.claim(r.No, long, 1)[0]
		n, err := f.l.Recover(f.ctx, l2, at(50))
		f.ok(err)
		if n != 2 {
			f.Errorf("%d doubts, want seq 3 and the retry of seq 2", n)
		}
		f.status(r.No, 0, campaign.Accepted)
		f.status(r.No, 1, campaign.Refused)
		if line := f.status(r.No, 2, campaign.InDoubt); line.Attempts != 2 {
			f.Errorf("got %+v; want Attempts 2", line)
		}
		if line := f.status(r.No, 3, campaign.InDoubt); line.Attempts != 1 || line.Reason == "" {
			f.Errorf(`got %+v; want Attempts 1, Reason other than ""`, line)
		}
		f.status(r.No, 4, campaign.Queued)
		if n, err = f.l.Recover(f.ctx, l2, at(60)); n != 0 || err != nil {
			f.Errorf("recovered twice: %d %v; want 0, no error", n, err)
		}
		f.sound(r.No)
	}},
	{"ReleaseGivesBackWhatWasNotPosted", func(f *fixture) {
		r := f.imported(6, func(r *campaign.Run) { r.Budget = 100 })
		l := f.lease(r.No, long)
		f.sent(l, 0, 4)
		f.record(acceptance(l, 0), deferral(l, 1, at(0)))
		f.sentRetry(l, 4, 1, 2)
		f.ok(f.l.Release(f.ctx, l, []int64{1, 2, 3, 4, 5})) // 4 and 5 were never granted
		if c := f.counts(r.No); c[campaign.Accepted] != 1 || c[campaign.Queued] != 5 {
			f.Errorf("counts %v; want Accepted: 1, Queued: 5", c)
		}
		if got := f.run(r.No); got.Taken != 2 {
			f.Errorf("%d taken from the budget, want 2: seq 0, and seq 1 whose first attempt was posted", got.Taken)
		}
		if g := f.intend(intent(l, 4, 5)); !g.Fenced {
			f.Errorf("an intent after the release: %+v; want Fenced", g)
		}
		l = f.lease(r.No, long) // the next owner need not wait
		due, err := f.l.Due(f.ctx, l, time.Now(), 10)
		f.ok(err)
		got := map[int64]int{}
		for _, d := range due {
			got[d.Seq] = d.Attempt
		}
		if d := diff.Diff(map[int64]int{1: 2, 2: 1, 3: 1}, got); d != "" {
			f.Errorf("attempts to come by seq: %s", d)
		}
		f.sound(r.No)
	}},
	{"ClaimTakesTheBoundBeforeTheOthers", func(f *fixture) {
		one, two := f.imported(1), f.imported(campaign.SegmentSize+1)
		ls := f.claim(two.No, long, 2)
		f.sent(ls[1], campaign.SegmentSize, campaign.SegmentSize+1)
		f.ok(f.l.Release(f.ctx, ls[0], nil))
		f.ok(f.l.Release(f.ctx, ls[1], []int64{campaign.SegmentSize - 1})) // of another segment: this lease cannot give it back
		f.counted(two.No, map[campaign.Status]int64{campaign.Queued: campaign.SegmentSize, campaign.InDoubt: 1})
		f.sound(two.No) // no outcome lies above the mark of the other segment
		ls, err := f.l.Claim(f.ctx, campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{one.No, two.No}, Max: 2, Lease: long})
		f.ok(err)
		if len(ls) != 2 || ls[0].Run != one.No || ls[1].Run != two.No || ls[1].Index != 1 {
			f.Errorf("claimed %+v, want run %d and segment 1 of run %d", ls, one.No, two.No)
		}
		if rest := f.claim(two.No, long, 9); len(rest) != 1 || rest[0].Index != 0 {
			f.Errorf("claimed %+v, want the segment that is left", rest)
		}
	}},
	{"WhatIsDueIsDueAtItsInstant", func(f *fixture) {
		_, l := f.begun(1, 1)
		f.record(deferral(l, 0, at(30)))
		for when, want := range map[time.Time]int{at(30).Add(-instant): 0, at(30): 1} {
			if due, err := f.l.Due(f.ctx, l, when, 9); err != nil || len(due) != want {
				f.Errorf("%d due at %s, %v; want %d", len(due), when, err, want)
			}
		}
	}},
	{"DueGivesRetriesInTheirOrder", func(f *fixture) {
		_, l := f.begun(5, 4)
		throttled := deferral(l, 3, at(5))
		throttled.Counts = false
		f.record(deferral(l, 0, at(30)), deferral(l, 1, at(20)), deferral(l, 2, at(90)), throttled)
		due, err := f.l.Due(f.ctx, l, at(40), 10)
		f.ok(err)
		var got [][3]int64
		for _, d := range due {
			got = append(got, [3]int64{d.Seq, int64(d.Attempt), int64(d.Tries)})
		}
		if d := diff.Diff([][3]int64{{3, 2, 0}, {1, 2, 1}, {0, 2, 1}}, got); d != "" {
			f.Errorf("seq, attempt, tries: %s", d)
		}
		if len(due) > 0 && (due[1].To != "+2348030000001" || due[1].Key != key(1) || due[1].Row != 2 || len(due[1].Cells) != 2) {
			f.Errorf("got %+v, want seq 1 to +2348030000001 in row 2 with two cells", due[1])
		}
		if due, err = f.l.Due(f.ctx, l, at(40), 1); err != nil || len(due) != 1 {
			f.Errorf("at most one: %v %v; want no error, length 1", due, err)
		}
	}},
	{"DropSkipsWhatIsQueuedAndNothingElse", func(f *fixture) {
		r, l := f.begun(8, 5)
		f.record(acceptance(l, 0), deferral(l, 1, at(10)), doubtful(l, 2), deferral(l, 4, at(0)))
		f.sentRetry(l, 5, 4, 2)
		n, err := f.l.SkipQueued(f.ctx, l, campaign.Expired)
		f.ok(err)
		if n != 4 {
			f.Errorf("skipped %d, want 1 deferred and 3 above the mark", n)
		}
		want := map[campaign.Status]int64{campaign.Accepted: 1, campaign.Skipped: 4, campaign.InDoubt: 1, campaign.Sending: 2}
		if d := diff.Diff(want, f.counts(r.No)); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.record(acceptance(l, 3)) // a result of an earlier intent is still recorded
		f.status(r.No, 3, campaign.Accepted)
		f.sound(r.No)
	}},
}
