package ledgertest

import (
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"

	"github.com/google/go-cmp/cmp"
)

var adoptionPromises = []promise{
	{"AWebhookProvesADoubtAccepted", func(f *fixture) {
		r, l := f.begun(2, 2)
		f.record(doubtful(l, 0), acceptance(l, 1))
		f.apply(event("wamid.lost", key(0), campaign.Delivered, at(4)), event("wamid.lost", key(0), campaign.Sent, at(2)))
		s := f.sweep()
		if d := cmp.Diff(campaign.Swept{Adopted: 1}, s); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		got := f.status(r.No, 0, campaign.Delivered)
		if !got.Adopted || got.MessageID != "wamid.lost" || got.Attempts != 1 || !got.SentAt.Equal(at(2)) || !got.AcceptedAt.Equal(at(2)) ||
			got.Reason != "" {
			f.Errorf(`got %+v; want Adopted, MessageID "wamid.lost", Attempts 1, SentAt %+v, AcceptedAt %+v, Reason ""`, got, at(2), at(2))
		}
		f.apply(event("wamid.lost", key(0), campaign.Read, at(9)))
		f.status(r.No, 0, campaign.Read)
		_, funnel, err := f.l.Tallies(f.ctx, r.No)
		f.ok(err)
		if d := cmp.Diff(campaign.Funnel{Accepted: 2, Sent: 1, Delivered: 1, Read: 1, Adopted: 1}, funnel); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		p, err := f.l.Park(f.ctx, l, time.Time{}, After(time.Minute))
		f.ok(err)
		if !p.Done {
			f.Errorf("got %+v; want Done", p)
		}
		f.sound(r.No)
	}},
	{"AnUnknownIsAdoptedForEver", func(f *fixture) {
		r, l := f.begun(1, 1)
		f.record(doubtful(l, 0))
		f.done(f.l.Resolve(f.ctx, l, reception.Span{Until: at(900)}, campaign.UncertainHold))
		f.done(f.l.Park(f.ctx, l, time.Time{}, After(time.Minute)))
		rs, err := f.l.FinishRuns(f.ctx)
		f.ok(err)
		if len(rs) != 1 {
			f.Errorf("finished %v; want length 1", rs)
		}
		f.status(r.No, 0, campaign.Unknown)
		e := event("wamid.lost", key(0), campaign.Sent, at(3))
		e.Connection = "" // an event need not name a connection
		f.apply(e)
		if s := f.sweep(); s.Adopted != 1 {
			f.Errorf("got %+v; want Adopted 1", s)
		}
		f.status(r.No, 0, campaign.Sent)
	}},
	{"WhatADeadOwnerSentIsAdopted", func(f *fixture) {
		r := f.imported(1)
		f.sent(f.lease(r.No, gone), 0, 1)
		l := f.claim(r.No, long, 1)[0]
		now := time.Now()
		f.done(f.l.Recover(f.ctx, l, now))
		f.apply(event("wamid.lost", key(0), campaign.Sent, now))
		if s := f.sweep(); s.Adopted != 1 {
			f.Errorf("got %+v; want Adopted 1", s)
		}
		f.status(r.No, 0, campaign.Sent)
	}},
	{"OnlyARightTimeConnectionAndRecipientFit", func(f *fixture) {
		r, l := f.begun(1, 1)
		f.record(doubtful(l, 0)) // intent at 0, doubt at 1
		otherConn := event("wamid.conn", key(0), campaign.Sent, at(2))
		otherConn.Connection = "conn_2"
		f.apply(event("wamid.before", key(0), campaign.Sent, at(0).Add(-early-instant)),
			event("wamid.after", key(0), campaign.Sent, at(1).Add(late+instant)), otherConn,
			event("wamid.recipient", key(1), campaign.Sent, at(2)), event("wamid.nobody", 0, campaign.Sent, at(2)),
			event("wamid.earlier", key(0), campaign.Sent, at(-600)), event("wamid.earlier", key(0), campaign.Read, at(2)))
		if d := cmp.Diff(campaign.Swept{Left: 7}, f.sweep()); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		f.status(r.No, 0, campaign.InDoubt)
		f.apply(event("wamid.mine", key(0), campaign.Sent, at(71)))
		if s := f.sweep(); s.Adopted != 1 {
			f.Errorf("got %+v; want Adopted 1", s)
		}
		if line := f.status(r.No, 0, campaign.Sent); line.MessageID != "wamid.mine" {
			f.Errorf(`got %+v; want MessageID "wamid.mine"`, line)
		}
	}},
	{"AnOrphanIsAsOldAsItsFirstStatus", func(f *fixture) {
		r, l := f.begun(2, 2)
		f.record(doubtful(l, 0), doubtful(l, 1))
		f.apply(event("wamid.0", key(0), campaign.Sent, at(0).Add(-early)), event("wamid.0", key(0), campaign.Read, at(9999)),
			event("wamid.1", 0, campaign.Read, at(9999)), event("wamid.1", 0, campaign.Sent, at(72)))
		f.swept(campaign.Swept{Adopted: 1, Left: 2})
		f.apply(event("wamid.1", key(1), campaign.Sent, at(71))) // the same status again, now with its recipient
		f.swept(campaign.Swept{Adopted: 1})
		f.status(r.No, 0, campaign.Read)
		f.status(r.No, 1, campaign.Read)
	}},
	{"ARetryInFlightElsewhereIsWaitedFor", func(f *fixture) {
		a, b := f.imported(1), f.imported(1)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.sent(la, 0, 1)
		f.sent(lb, 0, 1)
		now := time.Now()
		inDoubt := doubtful(la, 0)
		inDoubt.IntentAt, inDoubt.At = now, now
		f.record(inDoubt, deferral(lb, 0, at(0)))
		f.sentRetry(lb, 1, 0, 2)
		f.apply(event("wamid.whose", key(0), campaign.Sent, now))
		f.sweptAt(now, campaign.Swept{Left: 1})
		second := deferral(lb, 0, at(0))
		second.Attempt = 2
		f.record(second) // the second attempt was not sent
		f.sweptAt(now, campaign.Swept{Adopted: 1})
		f.status(a.No, 0, campaign.Sent)
	}},
	{"TwoCandidatesAreLeftAmbiguous", func(f *fixture) {
		a, b := f.imported(1), f.imported(1)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.sent(la, 0, 1)
		f.sent(lb, 0, 1)
		f.record(doubtful(la, 0), doubtful(lb, 0))
		f.apply(event("wamid.whose", key(0), campaign.Sent, at(2)))
		for range 2 {
			if d := cmp.Diff(campaign.Swept{Ambiguous: 1, Left: 1}, f.sweep()); d != "" {
				f.Errorf("-want +got:\n%s", d)
			}
		}
		for _, r := range []campaign.Run{a, b} {
			f.status(r.No, 0, campaign.InDoubt)
			_, funnel, err := f.l.Tallies(f.ctx, r.No)
			f.ok(err)
			if funnel.Ambiguous != 1 {
				f.Errorf("got %+v; want Ambiguous 1", funnel)
			}
		}
	}},
	{"WhatIsInFlightElsewhereIsWaitedFor", func(f *fixture) {
		a, b := f.imported(1), f.imported(1)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.sent(la, 0, 1)
		f.sent(lb, 0, 1)
		inDoubt := doubtful(la, 0)
		now := time.Now()
		inDoubt.IntentAt, inDoubt.At = now, now
		f.record(inDoubt)
		f.apply(event("wamid.whose", key(0), campaign.Sent, now))
		if s := f.sweep(); s.Adopted != 0 {
			f.Errorf("%+v: the webhook may be about run %d, whose answer is still on its way; want Adopted 0", s, b.No)
		}
		mine := acceptance(lb, 0)
		mine.MessageID = "wamid.whose"
		f.record(mine)
		f.status(b.No, 0, campaign.Sent)
		f.sweep()
		f.status(a.No, 0, campaign.InDoubt)
	}},
	{"AResentRowIsAdoptedByItsFirstAttempt", func(f *fixture) {
		r, l := f.resendGivenBack() // sent between 0 and 1, and queued again
		other := f.imported(1)
		lo := f.lease(other.No, long)
		f.sent(lo, 0, 1)
		elsewhere := doubtful(lo, 0)
		elsewhere.IntentAt, elsewhere.At = at(300), at(301)
		f.record(elsewhere)
		f.apply(event("wamid.first", key(0), campaign.Sent, at(2)))
		f.swept(campaign.Swept{Adopted: 1})
		if line := f.status(r.No, 0, campaign.Sent); line.MessageID != "wamid.first" {
			f.Errorf("got %+v; want the message wamid.first", line)
		}
		f.status(other.No, 0, campaign.InDoubt)
		if due, err := f.l.Due(f.ctx, l, time.Now().Add(time.Hour), 9); err != nil || len(due) != 0 {
			f.Errorf("due again: %+v, %v; want none", due, err)
		}
		f.sound(r.No)
	}},
	{"AResentRowIsAdoptedWhileItIsSentAgain", func(f *fixture) {
		r, l := f.resendGivenBack()
		f.sentRetry(l, 1, 0, 2)
		f.apply(event("wamid.first", key(0), campaign.Sent, at(2)))
		f.swept(campaign.Swept{Adopted: 1})
		second := acceptance(l, 0)
		second.Attempt = 2
		f.record(second) // the duplicate; it counts as one because the delivery was sent again
		if line := f.status(r.No, 0, campaign.Sent); line.MessageID != "wamid.first" {
			f.Errorf("got %+v; want the message wamid.first", line)
		}
		if _, funnel, err := f.l.Tallies(f.ctx, r.No); err != nil || funnel.MaybeDuplicate != 1 || funnel.Adopted != 1 {
			f.Errorf("got %+v, %v; want MaybeDuplicate 1, Adopted 1", funnel, err)
		}
		f.sound(r.No)
	}},
	{"TheFirstMessageOfAResentRowIsNobodyElses", func(f *fixture) {
		r, l := f.resendGivenBack()
		f.sentRetry(l, 1, 0, 2)
		second := acceptance(l, 0)
		second.Attempt = 2
		f.record(second)
		other := f.imported(1)
		lo := f.lease(other.No, long)
		f.sent(lo, 0, 1)
		f.record(doubtful(lo, 0)) // in doubt at the same time as the first attempt
		f.apply(event("wamid.first", key(0), campaign.Sent, at(2)))
		f.swept(campaign.Swept{Ambiguous: 1, Left: 1})
		f.status(other.No, 0, campaign.InDoubt)
		if line := f.status(r.No, 0, campaign.Accepted); line.MessageID != messageID(r.No, 0) {
			f.Errorf("got %+v; want its own message", line)
		}
		late := refusal(lo, 0)
		f.record(late)
		f.swept(campaign.Swept{Left: 1}) // the duplicate proves nothing new
		if line := f.status(r.No, 0, campaign.Accepted); line.MessageID != messageID(r.No, 0) || line.Adopted {
			f.Errorf("got %+v; want its own message, not adopted", line)
		}
	}},
	{"AnEventWithoutATimeProvesTheOnlyCandidate", func(f *fixture) {
		r, l := f.begun(1, 1)
		f.record(doubtful(l, 0))
		before, after := event("wamid.before", key(0), campaign.Sent, time.Time{}), event("wamid.mine", key(0), campaign.Sent, time.Time{})
		elsewhere := event("wamid.conn", key(0), campaign.Sent, time.Time{})
		elsewhere.Connection, elsewhere.ReceivedAt = "conn_2", at(9999)
		before.ReceivedAt, after.ReceivedAt = at(0).Add(-early-instant), at(9999)
		f.apply(before, elsewhere)
		f.swept(campaign.Swept{Left: 2})
		f.apply(after)
		f.swept(campaign.Swept{Adopted: 1, Left: 2})
		if line := f.status(r.No, 0, campaign.Sent); line.MessageID != "wamid.mine" || !line.SentAt.Equal(at(9999)) {
			f.Errorf("got %+v; want the message wamid.mine, sent at %s", line, at(9999))
		}
	}},
	{"AnEventWithoutATimeFitsEachCandidate", func(f *fixture) {
		a, b := f.imported(1), f.imported(1)
		la, lb := f.lease(a.No, long), f.lease(b.No, long)
		f.sent(la, 0, 1)
		f.sent(lb, 0, 1)
		later := doubtful(lb, 0)
		later.IntentAt, later.At = at(5000), at(5001)
		f.record(doubtful(la, 0), later)
		e := event("wamid.whose", key(0), campaign.Sent, time.Time{})
		e.ReceivedAt = at(5002)
		f.apply(e)
		f.swept(campaign.Swept{Ambiguous: 1, Left: 1})
		f.status(a.No, 0, campaign.InDoubt)
		f.status(b.No, 0, campaign.InDoubt)
		f.apply(event("wamid.whose", key(0), campaign.Delivered, at(5003))) // this event has a time
		f.swept(campaign.Swept{Adopted: 1})
		f.status(a.No, 0, campaign.InDoubt)
		f.status(b.No, 0, campaign.Delivered)
	}},
	{"WhatIsKnownNotToBeSentIsNeverAdopted", func(f *fixture) {
		r, l := f.begun(3, 2)
		f.record(deferral(l, 0, at(0)), refusal(l, 1))
		f.apply(event("wamid.0", key(0), campaign.Sent, at(1)), event("wamid.1", key(1), campaign.Sent, at(1)),
			event("wamid.2", key(2), campaign.Sent, at(1)))
		if s := f.sweep(); s.Adopted != 0 || s.Left != 3 {
			f.Errorf("got %+v; want Adopted 0, Left 3", s)
		}
		f.status(r.No, 0, campaign.Queued)
		f.status(r.No, 1, campaign.Refused)
		f.status(r.No, 2, campaign.Queued)
	}},
}
