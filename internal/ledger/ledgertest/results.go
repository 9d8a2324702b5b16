package ledgertest

import (
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var resultPromises = []promise{
	{"ResultsAreShownWithAllTheirFields", func(f *fixture) {
		r, l := f.begun(4, 4)
		d := deferral(l, 2, at(9))
		f.record(acceptance(l, 0), refusal(l, 1), d, doubtful(l, 3))
		got := f.lines(r.No)
		for seq, want := range map[int64]campaign.Line{
			0: {Status: campaign.Accepted, MessageID: messageID(r.No, 0), AcceptedAt: at(1)},
			1: {Status: campaign.Refused, Code: "send_recipient_permanent", RequestID: "req-1", TraceID: "trace-1"},
			2: {Status: campaign.Queued, Reason: "send_retryable"},
			3: {Status: campaign.InDoubt, Reason: "time_out", DoubtSince: at(1)},
		} {
			want.Delivery = deliveries(seq, seq+1)[0]
			want.Run, want.Connection, want.Attempts = r.No, "conn_1", 1
			if d := cmp.Diff(want, got[seq], cmpopts.IgnoreFields(campaign.Delivery{}, "Note")); d != "" {
				f.Errorf("seq %d: %s", seq, d)
			}
		}
		if got[1].Note != "no such number" {
			f.Errorf(`note of a refusal: %q; want Note "no such number"`, got[1].Note)
		}
		f.sound(r.No)
	}},
	{"RepeatedResultsChangeNothing", func(f *fixture) {
		r, l := f.begun(4, 4)
		rs := []campaign.Result{acceptance(l, 0), refusal(l, 1), deferral(l, 2, at(9)), doubtful(l, 3)}
		f.record(rs...)
		before := f.lines(r.No)
		f.record(rs...)
		f.record(append(rs, rs...)...)
		if d := cmp.Diff(before, f.lines(r.No)); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		if due, err := f.l.Due(f.ctx, l, at(60), 9); err != nil || len(due) != 1 || due[0].Tries != 1 {
			f.Errorf("due %+v %v; want no error, length 1, Tries 1", due, err)
		}
	}},
	{"AcceptedWinsOverEverything", func(f *fixture) {
		r, l := f.begun(8, 6)
		f.record(refusal(l, 0), deferral(l, 1, at(0)), doubtful(l, 2), doubtful(l, 3), deferral(l, 4, at(0)))
		f.sentRetry(l, 6, 4, 2)
		f.done(f.l.Resolve(f.ctx, l, reception.Span{Until: at(50)}, campaign.UncertainHold))
		f.done(f.l.SkipQueued(f.ctx, l, campaign.Expired))
		var rs []campaign.Result
		for seq := range int64(6) {
			rs = append(rs, acceptance(l, seq))
		}
		f.record(rs...)
		for seq := range int64(6) {
			if line := f.status(r.No, seq, campaign.Accepted); line.Reason != "" || line.Code != "" || line.MessageID == "" {
				f.Errorf(`got %+v; want Reason "", Code "", MessageID other than ""`, line)
			}
		}
		f.record(refusal(l, 0), deferral(l, 1, at(0)), doubtful(l, 2))
		for seq := range int64(3) {
			f.status(r.No, seq, campaign.Accepted)
		}
		f.sound(r.No)
	}},
	{"AFactOfAnotherAttemptIsIgnored", func(f *fixture) {
		r, l := f.begun(2, 1)
		f.record(deferral(l, 0, at(0)))
		f.sentRetry(l, 1, 0, 2)
		f.record(deferral(l, 0, at(0)), refusal(l, 0), doubtful(l, 0)) // late results of attempt 1
		f.status(r.No, 0, campaign.Sending)
		second := refusal(l, 0)
		second.Attempt = 2
		f.record(second)
		if line := f.status(r.No, 0, campaign.Refused); line.Attempts != 2 {
			f.Errorf("got %+v; want Attempts 2", line)
		}
	}},
	{"AFencedOwnersFactsMergeAndItsDoubtsDoNot", func(f *fixture) {
		r, old := f.leased(6, gone)
		f.sent(old, 0, 5)
		l := f.lease(r.No, long) // recovers all five
		f.record(acceptance(old, 0), refusal(old, 1), deferral(old, 2, at(0)), doubtful(old, 3))
		f.status(r.No, 0, campaign.Accepted)
		f.status(r.No, 1, campaign.Refused)
		f.status(r.No, 2, campaign.Queued)
		f.status(r.No, 3, campaign.InDoubt)
		n, err := f.l.Resolve(f.ctx, l, reception.Span{Until: at(99)}, campaign.UncertainResend) // its doubt began at(100), when it was recovered
		f.ok(err)
		if n != 0 {
			f.Errorf("%d doubts resolved: a stale doubt replaced the new owner's; want 0", n)
		}
		n, err = f.l.Resolve(f.ctx, l, reception.Span{Until: at(101)}, campaign.UncertainResend)
		f.ok(err)
		if n != 2 {
			f.Errorf("%d doubts resolved, want 2", n)
		}
		stale := doubtful(old, 5)
		f.record(stale)
		f.status(r.No, 5, campaign.Queued)
	}},
	{"AFencedOwnersDeferralWakesItsSegment", func(f *fixture) {
		r, old := f.leased(6, gone)
		f.sent(old, 0, 6)
		f.sleeps(f.lease(r.No, long), 10*365*24*time.Hour) // all six are in doubt
		f.record(deferral(old, 2, time.Now().Add(-time.Second)))
		f.lease(r.No, long)
	}},
	{"AnAcceptanceWithoutIDIsNeverResent", func(f *fixture) {
		r, old := f.leased(3, gone)
		f.sent(old, 0, 2)
		l := f.lease(r.No, long)
		noID := doubtful(old, 0)
		noID.Code, noID.NoResend = "accepted_no_id", true
		f.record(noID) // a fact, although its owner is fenced
		f.sent(l, 2, 3)
		noID = doubtful(l, 2)
		noID.Code, noID.NoResend = "accepted_no_id", true
		f.record(noID)
		n, err := f.l.Resolve(f.ctx, l, reception.Span{Until: at(999)}, campaign.UncertainResend)
		f.ok(err)
		if n != 3 {
			f.Errorf("resolved %d; want 3", n)
		}
		f.status(r.No, 0, campaign.Unknown)
		f.status(r.No, 1, campaign.Queued)
		f.status(r.No, 2, campaign.Unknown)
	}},
	{"ResolveAppliesThePolicyToOldDoubtsOnly", func(f *fixture) {
		for _, c := range []struct {
			policy campaign.OnUncertain
			want   campaign.Status
		}{{campaign.UncertainHold, campaign.Unknown}, {campaign.UncertainResend, campaign.Queued}} {
			r, l := f.begun(3, 2)
			young := doubtful(l, 1)
			young.At = at(60)
			f.record(doubtful(l, 0), young)
			n, err := f.l.Resolve(f.ctx, l, reception.Span{Until: at(60)}, c.policy)
			f.ok(err)
			if n != 1 {
				f.Errorf("%s resolved %d; want 1", c.policy, n)
			}
			f.status(r.No, 0, c.want)
			f.status(r.No, 1, campaign.InDoubt)
			_, funnel, err := f.l.Tallies(f.ctx, r.No)
			f.ok(err)
			if want := map[bool]int64{true: 1}[c.want == campaign.Queued]; funnel.MaybeDuplicate != want {
				f.Errorf("%s: %d may be duplicates; want MaybeDuplicate %+v", c.policy, funnel.MaybeDuplicate, want)
			}
			if c.want != campaign.Queued {
				continue
			}
			f.sentRetry(l, 2, 0, 2)
			again := doubtful(l, 0)
			again.Attempt = 2
			f.record(again)
			f.done(f.l.Resolve(f.ctx, l, reception.Span{Until: at(50)}, c.policy))
			f.status(r.No, 0, campaign.Queued)
		}
	}},
	{"ARefusalFeedsTheSuppressions", func(f *fixture) {
		_, l := f.begun(2, 1)
		x := refusal(l, 0)
		x.Code = "recipient_opted_out"
		x.Suppress = &campaign.Suppression{Key: key(0), To: "+2348030000000", Scope: campaign.ScopeMarketing,
			Source: "refused:recipient_opted_out", At: at(1)}
		f.record(x)
		got, err := f.l.SuppressedKeys(f.ctx, []int64{key(0), key(1)}, true, nil, time.Now())
		f.ok(err)
		if d := cmp.Diff(map[int64]campaign.SkipReason{key(0): campaign.OptedOut}, got); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
	}},
	{"ARepeatedMessageIDSpoilsNothing", func(f *fixture) {
		r, l := f.begun(40, 40)
		var rs []campaign.Result
		for seq := range int64(40) {
			x := acceptance(l, seq)
			if seq%7 == 3 {
				x.MessageID = "wamid.always.the.same"
			}
			rs = append(rs, x)
		}
		f.record(rs...)
		if c := f.counts(r.No); c[campaign.Accepted] != 40 {
			f.Errorf("counts %v; want Accepted: 40", c)
		}
		f.apply(event("wamid.always.the.same", key(3), campaign.Delivered, at(5)))
		if c := f.counts(r.No); c[campaign.Delivered] != 6 {
			f.Errorf("counts %v, want all six that have the id", c)
		}
		f.sound(r.No)
	}},
	{"TheFirstMessageIDStays", func(f *fixture) {
		r, l := f.begun(1, 1)
		f.record(acceptance(l, 0))
		second := acceptance(l, 0)
		second.MessageID = "wamid.second"
		f.record(second)
		if line := f.status(r.No, 0, campaign.Accepted); line.MessageID != messageID(r.No, 0) {
			f.Errorf("got %+v; want MessageID %+v", line, messageID(r.No, 0))
		}
	}},
}
