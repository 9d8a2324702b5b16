package ledgertest

import (
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
)

var intentPromises = []promise{
	{"IntendMovesTheMarkAndBindsTheConnection", func(f *fixture) {
		r, l := f.leased(10, long)
		g := f.intend(intent(l, 0, 4))
		if d := cmp.Diff(campaign.Granted{To: 4}, g); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		if s := f.segmentState(r.No, 0); s.Mark != 4 || s.Connection != "conn_1" {
			f.Errorf(`got %+v; want Mark 4, Connection "conn_1"`, s)
		}
		if c := f.counts(r.No); c[campaign.Sending] != 4 || c[campaign.Queued] != 6 {
			f.Errorf("counts %v; want Sending: 4, Queued: 6", c)
		}
		if line := f.status(r.No, 0, campaign.Sending); line.Connection != "conn_1" || line.Attempts != 1 {
			f.Errorf(`got %+v; want Connection "conn_1", Attempts 1`, line)
		}
		if got := f.run(r.No); got.Taken != 4 {
			f.Errorf("taken %d; want Taken 4", got.Taken)
		}
		ds, err := f.l.Deliveries(f.ctx, r.No, 2, 6)
		f.ok(err)
		if len(ds) != 4 || ds[0].Seq != 2 {
			f.Errorf("deliveries without an outcome: %+v; want length 4, Seq 2", ds)
		}
	}},
	{"AnIntentOfADeadOwnerCountsAsDoubt", func(f *fixture) {
		r := f.imported(10)
		f.sent(f.lease(r.No, gone), 0, 4)
		if c := f.counts(r.No); c[campaign.InDoubt] != 4 || c[campaign.Queued] != 6 {
			f.Errorf("counts %v; want InDoubt: 4, Queued: 6", c)
		}
	}},
	{"NobodyIsIntendedTwice", func(f *fixture) {
		_, l := f.begun(10, 4)
		for _, from := range []int64{0, 2, 6} {
			if g := f.intend(intent(l, from, 8)); !g.Fenced {
				f.Errorf("intent from %d, mark 4: %+v; want Fenced", from, g)
			}
		}
		l.Epoch++
		if g := f.intend(intent(l, 4, 8)); !g.Fenced {
			f.Errorf("the right mark under another epoch: %+v; want Fenced", g)
		}
	}},
	{"IntentsOfOneCallAreAnsweredInTheirOrder", func(f *fixture) {
		a, b := f.imported(4), f.imported(4)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		stale := la
		stale.Epoch = 99
		gs, err := f.l.Intend(f.ctx, []campaign.Intent{intent(la, 0, 2), intent(stale, 2, 3), intent(lb, 0, 1), intent(la, 2, 4)})
		f.ok(err)
		if d := cmp.Diff([]campaign.Granted{{To: 2}, {Fenced: true}, {To: 1}, {To: 4}}, gs); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
	}},
	{"AnIntentByAnotherConnectionIsRefused", func(f *fixture) {
		_, l := f.begun(4, 2)
		in := intent(l, 2, 4)
		in.Connection = "conn_2"
		if _, err := f.l.Intend(f.ctx, []campaign.Intent{in}); err == nil {
			f.Error("a segment with a connection changed it")
		}
	}},
	{"APauseHoldsTheNextIntent", func(f *fixture) {
		r, l := f.begun(4, 1)
		f.done(f.l.SetWanted(f.ctx, r.No, campaign.WantPause, ""))
		if g := f.intend(intent(l, 1, 2)); !g.Denied || g.To != 1 {
			f.Errorf("wanted pause: %+v", g)
		}
		f.done(f.l.SetWanted(f.ctx, r.No, campaign.WantRun, ""))
		f.sent(l, 1, 2)
		f.done(f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Running}, campaign.Paused, campaign.PausedByBreaker, ""))
		if g := f.intend(intent(l, 2, 3)); !g.Denied {
			f.Errorf("paused: %+v; want Denied", g)
		}
		f.record(acceptance(l, 0)) // a result of an earlier intent is still recorded
		f.status(r.No, 0, campaign.Accepted)
		f.done(f.l.SetWanted(f.ctx, r.No, campaign.WantRun, ""))
		f.sent(l, 2, 3)
		if got := f.run(r.No); got.State != campaign.Running {
			f.Errorf("resumed under the same lease, the run is %s; want State Running", got.State)
		}
	}},
	{"AnIntentAfterItsWindowGrantsNothing", func(f *fixture) {
		r, l := f.leased(4, long)
		in := intent(l, 0, 2)
		in.Until = time.Now().Add(-time.Millisecond)
		want := campaign.Granted{Denied: true, Limit: campaign.Limit{By: campaign.ByWindow}}
		if d := cmp.Diff(want, f.intend(in)); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		if s := f.segmentState(r.No, 0); s.Mark != 0 {
			f.Errorf("mark %d, want 0", s.Mark)
		}
		in.Until = time.Now().Add(time.Hour)
		if g := f.intend(in); g.Denied || g.To != 2 {
			f.Errorf("in time: %+v; want not Denied, To 2", g)
		}
	}},
	{"AStopBeforeTheIntentIsObeyed", func(f *fixture) {
		r, l := f.leased(8, long)
		_, err := f.l.Apply(f.ctx, campaign.Events{Suppressions: []campaign.Suppression{
			{Key: key(1), Scope: campaign.ScopeMarketing, Source: "stop", At: at(0)},
			{Key: key(2), Scope: campaign.ScopeAll, Source: "operator", At: at(0)},
			{Key: key(3), Scope: campaign.ScopeUnreachable, Source: "failed:131026", At: at(0), Until: time.Now().Add(time.Hour)},
			{Key: key(4), Scope: campaign.ScopeUnreachable, Source: "failed:131026", At: at(0), Until: time.Now().Add(-time.Hour)},
			{Key: key(7), Scope: campaign.ScopeAll, At: at(0)},
		}})
		f.ok(err)
		g := f.intend(intent(l, 0, 6))
		want := campaign.Granted{To: 6, Skipped: map[int64]campaign.SkipReason{1: campaign.OptedOut, 2: campaign.Suppressed,
			3: campaign.Unreachable}}
		if d := cmp.Diff(want, g); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		if got := f.run(r.No); got.Taken != 3 {
			f.Errorf("taken %d, want 3: who is skipped costs nothing", got.Taken)
		}
		if line := f.status(r.No, 2, campaign.Skipped); line.Skip != campaign.Suppressed {
			f.Errorf("got %+v; want Skip Suppressed", line)
		}
		f.status(r.No, 4, campaign.Sending)
		f.status(r.No, 7, campaign.Queued)
		f.sound(r.No)
	}},
	{"AnIntentOutsideItsSegmentIsRefused", func(f *fixture) {
		r, l := f.begun(4, 2)
		nameless, above, below := intent(l, 2, 3), intent(l, 2, 5), intent(l, 2, 1)
		nameless.Connection = ""
		elsewhere := retry(l, 2, 4, 2)
		for what, in := range map[string]campaign.Intent{"no connection": nameless, "beyond the end": above, "backwards": below,
			"a retry of another segment": elsewhere} {
			if g, err := f.l.Intend(f.ctx, []campaign.Intent{in}); err == nil {
				f.Errorf("%s: granted %+v, want an error", what, g)
			}
		}
		if s := f.segmentState(r.No, 0); s.Mark != 2 {
			f.Errorf("mark = %d, want 2", s.Mark)
		}
		f.sent(l, 2, 4) // up to the end
	}},
	{"ACancelledRunIsGrantedNothing", func(f *fixture) {
		r, l := f.leased(2, long)
		f.done(f.l.SetWanted(f.ctx, r.No, campaign.WantCancel, ""))
		if d := cmp.Diff(campaign.Granted{Denied: true}, f.intend(intent(l, 0, 2))); d != "" {
			f.Errorf("granted (-want +got):\n%s", d)
		}
	}},
	{"AGroupAndItsRetriesAreSkippedTogether", func(f *fixture) {
		r, l := f.begun(4, 2)
		f.record(deferral(l, 0, at(0)), deferral(l, 1, at(0)))
		_, err := f.l.Suppress(f.ctx, []campaign.Suppression{{Key: key(0), Scope: campaign.ScopeAll},
			{Key: key(2), Scope: campaign.ScopeMarketing}})
		f.ok(err)
		in := intent(l, 2, 4)
		in.Retries, in.Keys = append(retry(l, 2, 0, 2).Retries, retry(l, 2, 1, 3).Retries...), append(in.Keys, key(0), key(1))
		want := campaign.Granted{To: 4, Skipped: map[int64]campaign.SkipReason{0: campaign.Suppressed, 1: "", 2: campaign.OptedOut}}
		if d := cmp.Diff(want, f.intend(in)); d != "" {
			f.Errorf("granted (-want +got):\n%s", d)
		}
		f.counted(r.No, map[campaign.Status]int64{campaign.Skipped: 2, campaign.Queued: 1, campaign.Sending: 1})
	}},
	{"TheStrongestSuppressionIsTheReason", func(f *fixture) {
		over, lasts := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
		mark, all, lost := campaign.ScopeMarketing, campaign.ScopeAll, campaign.ScopeUnreachable
		cases := []struct {
			list              []campaign.Suppression
			marketing, others campaign.SkipReason
		}{
			{nil, "", ""},
			{[]campaign.Suppression{{Scope: mark}}, campaign.OptedOut, ""},
			{[]campaign.Suppression{{Scope: lost}, {Scope: mark}}, campaign.OptedOut, campaign.Unreachable},
			{[]campaign.Suppression{{Scope: mark}, {Scope: lost}, {Scope: all}}, campaign.Suppressed, campaign.Suppressed},
			{[]campaign.Suppression{{Scope: all, Until: over}, {Scope: lost, Until: lasts}}, campaign.Unreachable, campaign.Unreachable},
			{[]campaign.Suppression{{Scope: mark, Until: over}, {Scope: lost, Until: over}}, "", ""},
		}
		n := int64(len(cases))
		for _, marketing := range []bool{true, false} {
			for _, keyed := range []bool{true, false} {
				r := f.imported(2*n, func(r *campaign.Run) { r.Marketing = marketing })
				l := f.lease(r.No, long)
				f.sent(l, 0, n)
				var waiting []campaign.Result
				want := campaign.Granted{To: 2 * n, Skipped: map[int64]campaign.SkipReason{}}
				in := intent(l, n, 2*n)
				for seq := range n {
					waiting = append(waiting, deferral(l, seq, at(0)))
					in.Retries, in.Keys = append(in.Retries, retry(l, n, seq, 2).Retries...), append(in.Keys, key(seq))
					c := cases[seq]
					for _, s := range c.list {
						for _, to := range []int64{seq, n + seq} { // by a retry, and by a first attempt
							s.Key = key(to)
							f.done(f.l.Suppress(f.ctx, []campaign.Suppression{s}))
						}
					}
					if why := map[bool]campaign.SkipReason{true: c.marketing, false: c.others}[marketing]; why != "" {
						want.Skipped[seq], want.Skipped[n+seq] = why, why
					}
				}
				f.record(waiting...)
				if !keyed {
					in.Keys = nil
				}
				if d := cmp.Diff(want, f.intend(in)); d != "" {
					f.Errorf("a run with marketing %v, with keys %v (-want +got):\n%s", marketing, keyed, d)
				}
				for seq := range 2 * n {
					if why := want.Skipped[seq]; why != "" {
						f.status(r.No, seq, campaign.Skipped)
					} else {
						f.status(r.No, seq, campaign.Sending)
					}
				}
				f.done(f.l.Unsuppress(f.ctx, f.suppressed()))
			}
		}
	}},
	{"AnOptOutFromMarketingDoesNotHoldATransaction", func(f *fixture) {
		r := f.imported(1, func(r *campaign.Run) { r.Marketing = false })
		f.done(f.l.Suppress(f.ctx, []campaign.Suppression{{Key: key(0), Scope: campaign.ScopeMarketing}}))
		f.sent(f.lease(r.No, long), 0, 1)
	}},
	{"ARunThatBecomesMarketingObeysOptOutsFromThenOn", func(f *fixture) {
		r := f.imported(4, func(r *campaign.Run) { r.Marketing = false })
		for seq := range int64(4) {
			f.done(f.l.Suppress(f.ctx, []campaign.Suppression{{Key: key(seq), Scope: campaign.ScopeMarketing}}))
		}
		l := f.lease(r.No, long)
		f.sent(l, 0, 2)
		for range 2 {
			f.ok(f.l.MakeMarketing(f.ctx, r.No))
		}
		want := campaign.Granted{To: 4, Skipped: map[int64]campaign.SkipReason{2: campaign.OptedOut, 3: campaign.OptedOut}}
		if d := cmp.Diff(want, f.intend(intent(l, 2, 4))); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		if got := f.run(r.No); !got.Marketing {
			f.Errorf("got %+v, want it marketing", got)
		}
	}},
	{"AStopBetweenTwoAttemptsIsObeyed", func(f *fixture) {
		r, l := f.begun(2, 1)
		f.record(deferral(l, 0, at(0)))
		f.done(f.l.Suppress(f.ctx, []campaign.Suppression{{Key: key(0), Scope: campaign.ScopeMarketing}}))
		g := f.intend(retry(l, 1, 0, 2))
		if d := cmp.Diff(campaign.Granted{To: 1, Skipped: map[int64]campaign.SkipReason{0: campaign.OptedOut}}, g); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.status(r.No, 0, campaign.Skipped)
	}},
	{"ARetryNeedsProofThatTheEarlierAttemptWasNotSent", func(f *fixture) {
		r, l := f.begun(4, 3)
		f.record(acceptance(l, 0), doubtful(l, 1), deferral(l, 2, at(0)))
		for _, c := range []struct {
			seq     int64
			attempt int
		}{{0, 2}, {1, 2}, {2, 1}, {2, 3}, {3, 1}} {
			g := f.intend(retry(l, 3, c.seq, c.attempt))
			if _, skip := g.Skipped[c.seq]; !skip {
				f.Errorf("attempt %d of seq %d was granted: %+v; want skip", c.attempt, c.seq, g)
			}
		}
		f.sentRetry(l, 3, 2, 2)
		g := f.intend(retry(l, 3, 2, 2))
		if _, skip := g.Skipped[2]; !skip {
			f.Errorf("the same retry twice: %+v; want skip", g)
		}
		f.status(r.No, 2, campaign.Sending)
	}},
	{"ALateAnswerStopsTheRetry", func(f *fixture) {
		r, l := f.begun(1, 1)
		f.record(doubtful(l, 0))
		f.done(f.l.Resolve(f.ctx, l, reception.Span{Until: at(50)}, campaign.UncertainResend))
		f.record(acceptance(l, 0))
		g := f.intend(retry(l, 1, 0, 2))
		if d := cmp.Diff(campaign.Granted{To: 1, Skipped: map[int64]campaign.SkipReason{0: ""}}, g); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.status(r.No, 0, campaign.Accepted)
	}},
	{"TheBudgetIsNeverExceeded", func(f *fixture) {
		r := f.imported(campaign.SegmentSize+10, func(r *campaign.Run) { r.Budget = 7 })
		ls := f.claim(r.No, long, 2)
		gs, err := f.l.Intend(f.ctx, []campaign.Intent{intent(ls[0], 0, 5), intent(ls[1], campaign.SegmentSize, campaign.SegmentSize+5)})
		f.ok(err)
		want := []campaign.Granted{{To: 5}, {To: campaign.SegmentSize + 2, OverBudget: true}}
		if d := cmp.Diff(want, gs); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		g := f.intend(intent(ls[0], 5, 6))
		if !g.Denied || !g.OverBudget || g.To != 5 {
			f.Errorf("the budget is used up: %+v; want Denied, OverBudget, To 5", g)
		}
		if got := f.run(r.No); got.Taken != 7 {
			f.Errorf("taken %d; want Taken 7", got.Taken)
		}
		f.record(deferral(ls[0], 0, at(0)))
		f.sentRetry(ls[0], 5, 0, 2) // the budget has counted it already
		if got := f.run(r.No); got.Taken != 7 {
			f.Errorf("taken %d after a retry; want Taken 7", got.Taken)
		}
		f.sound(r.No)
	}},
	{"WhoTheImportSkippedCostsNoBudget", func(f *fixture) {
		r := f.create(func(r *campaign.Run) { r.Budget = 2 })
		rows := deliveries(0, 4)
		rows[1].Skip = campaign.MissingVariable
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, rows, []campaign.Segment{{Run: r.No, Hi: 4}}))
		f.ok(f.l.FinishImport(f.ctx, r.No, 4, campaign.Ready))
		l := f.lease(r.No, long)
		if d := cmp.Diff(campaign.Granted{To: 3, OverBudget: true}, f.intend(intent(l, 0, 4))); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.sound(r.No)
	}},
}
