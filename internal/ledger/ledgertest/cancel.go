package ledgertest

import (
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// oneSegment is the first segment of a run, up to seq hi.
func oneSegment(no campaign.RunNo, hi int64) []campaign.Segment {
	return []campaign.Segment{{Run: no, Hi: hi}}
}

// cancel asks for the end of a run.
func (f *fixture) cancel(no campaign.RunNo) campaign.Run {
	f.Helper()
	r, err := f.l.SetWanted(f.ctx, no, campaign.WantCancel, "")
	f.ok(err)
	return r
}

// claimCancelled leases segments of runs whose cancellation is wanted.
func (f *fixture) claimCancelled(seize bool, nos ...campaign.RunNo) []campaign.Lease {
	f.Helper()
	ls, err := f.l.Claim(f.ctx, campaign.Claim{Owner: "b", Runs: nos, Cancelled: true, Seize: seize, Max: 9, Lease: long})
	f.ok(err)
	return ls
}

var cancelPromises = []promise{
	{"CancelIsFinal", func(f *fixture) {
		r := f.imported(2)
		f.cancel(r.No)
		for _, w := range []campaign.Wanted{campaign.WantPause, campaign.WantRun} {
			got, err := f.l.SetWanted(f.ctx, r.No, w, "")
			if !errors.Is(err, campaign.ErrCancelled) || got.No != r.No || got.Wanted != campaign.WantCancel {
				f.Errorf("%s after cancel: %+v, %v; want No %d, Wanted WantCancel, ErrCancelled", w, got, err, r.No)
			}
		}
		if got := f.cancel(r.No); got.Wanted != campaign.WantCancel {
			f.Errorf("cancelled twice: %+v; want Wanted WantCancel", got)
		}
		moved, err := f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByBreaker, "late")
		f.ok(err)
		if got := f.run(r.No); moved || got.State != campaign.Ready || got.Wanted != campaign.WantCancel {
			f.Errorf("a late pause moved it: %v, %+v; want not moved, State Ready, Wanted WantCancel", moved, got)
		}
	}},
	{"AnEndedRunIgnoresEveryWish", func(f *fixture) {
		r := f.imported(0)
		f.cancel(r.No)
		f.done(f.l.FinishRuns(f.ctx))
		for _, w := range []campaign.Wanted{campaign.WantPause, campaign.WantRun, campaign.WantCancel} {
			if got, err := f.l.SetWanted(f.ctx, r.No, w, ""); err != nil || got.State != campaign.Cancelled || got.Wanted != campaign.WantCancel {
				f.Errorf("%s: %+v, %v; want State Cancelled, Wanted WantCancel, no error", w, got, err)
			}
		}
	}},
	{"CancelMakesARunReadyToBeDropped", func(f *fixture) {
		for _, s := range []campaign.State{campaign.Importing, campaign.WaitingApproval, campaign.Ready, campaign.Paused} {
			r := f.create()
			f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 2), oneSegment(r.No, 2)))
			if s != campaign.Importing {
				f.ok(f.l.FinishImport(f.ctx, r.No, 2, campaign.Ready))
				f.done(f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Ready}, s, "", ""))
			}
			if got := f.cancel(r.No); got.State != campaign.Ready {
				f.Errorf("cancelled while %s: %s; want State Ready", s, got.State)
			}
			if ls := f.claimCancelled(false, r.No); len(ls) != 1 || ls[0].Hi != 2 {
				f.Errorf("of a run cancelled while %s claimed %+v; want length 1, Hi 2", s, ls)
			}
		}
	}},
	{"AFailedRunHasNothingQueued", func(f *fixture) {
		r := f.create()
		const rows = campaign.SegmentSize + 2
		segments := append(oneSegment(r.No, campaign.SegmentSize),
			campaign.Segment{Run: r.No, Index: 1, Lo: campaign.SegmentSize, Hi: rows})
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, rows), segments))
		moved, err := f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Importing}, campaign.RunStateFailed, "", "the list changed")
		f.ok(err)
		if got := f.run(r.No); !moved || got.State != campaign.RunStateFailed || got.EndedAt.IsZero() {
			f.Errorf("moved %v: %+v; want State RunStateFailed, EndedAt set", moved, got)
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Skipped: rows})
		for _, seq := range []int64{0, rows - 1} {
			if line := f.status(r.No, seq, campaign.Skipped); line.Reason != string(campaign.RunFailed) {
				f.Errorf("seq %d: %q; want run_failed", seq, line.Reason)
			}
		}
		ended, err := f.l.FinishRuns(f.ctx)
		f.ok(err)
		if len(ended) != 0 {
			f.Errorf("ended %+v; want length 0", ended)
		}
		f.sound(r.No)
	}},
	{"AFailedRunKeepsWhatWasPosted", func(f *fixture) {
		r, l := f.begun(4, 3)
		f.record(acceptance(l, 0), deferral(l, 1, at(0)))
		f.done(f.l.Park(f.ctx, l, time.Now(), After(time.Minute)))
		f.done(f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Running}, campaign.RunStateFailed, "", "why"))
		f.status(r.No, 0, campaign.Accepted)
		f.status(r.No, 1, campaign.Skipped)
		if line := f.status(r.No, 3, campaign.Skipped); line.Reason != string(campaign.RunFailed) {
			f.Errorf("seq 3: %q; want run_failed", line.Reason)
		}
		f.sound(r.No)
	}},
	{"ACancelledImportTakesNoMoreRows", func(f *fixture) {
		r := f.create()
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, deliveries(0, 2), oneSegment(r.No, 2)))
		f.cancel(r.No)
		if err := f.l.AppendRows(f.ctx, r.No, 2, deliveries(2, 4), oneSegment(r.No, 4)); !errors.Is(err, campaign.ErrFenced) {
			f.Errorf("a chunk after cancel: %v; want ErrFenced", err)
		}
		f.ok(f.l.FinishImport(f.ctx, r.No, 2, campaign.WaitingApproval))
		l := f.claimCancelled(false, r.No)[0]
		f.done(f.l.SkipQueued(f.ctx, l, campaign.RunCancelled))
		p, err := f.l.Park(f.ctx, l, time.Now(), After(time.Second))
		f.ok(err)
		f.done(f.l.FinishRuns(f.ctx))
		if got := f.run(r.No); !p.Done || got.State != campaign.Cancelled || got.Rows != 2 {
			f.Errorf("parked %+v, run %+v; want Done, State Cancelled, Rows 2", p, got)
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Skipped: 2})
		f.sound(r.No)
	}},
	{"WhatIsToBeCancelledIsClaimedAnywhereAtOnce", func(f *fixture) {
		r := f.imported(campaign.SegmentSize + 1)
		sent := f.lease(r.No, long)
		f.sent(sent, 0, 1)
		f.record(acceptance(sent, 0))
		f.done(f.l.Park(f.ctx, sent, time.Now().Add(long), After(time.Minute)))
		f.none("of a run that is not to be cancelled", f.claimCancelled(true, r.No))
		f.cancel(r.No)
		ls := f.claimCancelled(false, r.No)
		if len(ls) != 2 {
			f.Fatalf("claimed %+v; want length 2", ls)
		}
		for _, l := range ls {
			if first := l.Index == 0; first != (l.Connection == "conn_1") || first != l.Recovered {
				f.Errorf("lease %+v; want Connection conn_1 and Recovered exactly of the first", l)
			}
		}
	}},
	{"ASegmentOfALiveOwnerIsSeizedOnlyWhenAskedFor", func(f *fixture) {
		r, live := f.begun(3, 2)
		f.cancel(r.No)
		f.none("of a live owner", f.claimCancelled(false, r.No))
		ls := f.claimCancelled(true, r.No)
		if len(ls) != 1 || ls[0].Epoch <= live.Epoch || !ls[0].Recovered || ls[0].Mark != 2 {
			f.Fatalf("seized %+v; want length 1, Epoch above %d, Recovered, Mark 2", ls, live.Epoch)
		}
		if g := f.intend(intent(live, 2, 3)); !g.Fenced {
			f.Errorf("an intent of the old owner: %+v; want Fenced", g)
		}
		f.done(f.l.Recover(f.ctx, ls[0], at(2)))
		f.done(f.l.SkipQueued(f.ctx, ls[0], campaign.RunCancelled))
		f.done(f.l.Resolve(f.ctx, ls[0], reception.Span{Until: time.Now()}, campaign.UncertainHold))
		p, err := f.l.Park(f.ctx, ls[0], time.Now(), After(time.Second))
		f.ok(err)
		if !p.Done {
			f.Errorf("parked %+v; want Done", p)
		}
		f.record(acceptance(live, 0)) // a late answer
		f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 1, campaign.Unknown: 1, campaign.Skipped: 1})
		f.sound(r.No)
	}},
}

var overLimitPromises = []promise{
	{"OverTheLimitOnlyWhatWasNeverCountedIsDropped", func(f *fixture) {
		r := f.imported(5, func(r *campaign.Run) { r.Budget = 3 })
		l := f.lease(r.No, long)
		f.sent(l, 0, 3)
		f.record(acceptance(l, 0), deferral(l, 1, at(0)))
		f.ok(f.l.Release(f.ctx, l, []int64{2})) // given back: the budget does not count it
		l = f.lease(r.No, long)
		n, err := f.l.SkipQueued(f.ctx, l, campaign.OverLimit)
		f.ok(err)
		if n != 3 {
			f.Errorf("skipped %d; want 3", n)
		}
		f.status(r.No, 1, campaign.Queued)
		for seq := int64(2); seq < 5; seq++ {
			if line := f.status(r.No, seq, campaign.Skipped); line.Reason != string(campaign.OverLimit) {
				f.Errorf("seq %d: %q; want over_limit", seq, line.Reason)
			}
		}
		f.sentRetry(l, 5, 1, 2)
		again := acceptance(l, 1)
		again.Attempt = 2
		f.record(again)
		p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute))
		f.ok(err)
		if !p.Done {
			f.Errorf("parked %+v; want Done", p)
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Accepted: 2, campaign.Skipped: 3})
		f.sound(r.No)
	}},
}
