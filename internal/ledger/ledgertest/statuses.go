package ledgertest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// accepted makes a run whose n deliveries are all accepted.
func (f *fixture) accepted(n int64) (campaign.Run, campaign.Lease) {
	f.Helper()
	r := f.imported(n)
	l := f.lease(r.No, long)
	f.sent(l, 0, n)
	var rs []campaign.Result
	for seq := range n {
		rs = append(rs, acceptance(l, seq))
	}
	f.record(rs...)
	return r, l
}

var statusPromises = []promise{
	{"StatusesMoveForwardOnly", func(f *fixture) {
		r, _ := f.accepted(1)
		id := messageID(r.No, 0)
		for _, step := range []struct {
			event campaign.Status
			shown campaign.Status
		}{{campaign.Sent, campaign.Sent}, {campaign.Failed, campaign.Failed}, {campaign.Sent, campaign.Failed}, {campaign.Delivered, campaign.Delivered},
			{campaign.Failed, campaign.Delivered}, {campaign.Read, campaign.Read}, {campaign.Delivered, campaign.Read}, {campaign.Sent, campaign.Read}} {
			f.apply(event(id, key(0), step.event, at(10)))
			f.status(r.No, 0, step.shown)
		}
		f.sound(r.No)
	}},
	{"TheEarliestTimeOfEachStatusStays", func(f *fixture) {
		r, _ := f.accepted(1)
		id := messageID(r.No, 0)
		f.apply(event(id, key(0), campaign.Read, at(40)), event(id, key(0), campaign.Sent, at(20)), event(id, key(0), campaign.Delivered, at(30)))
		f.apply(event(id, key(0), campaign.Sent, at(21)), event(id, key(0), campaign.Delivered, at(29)), event(id, key(0), campaign.Read, at(41)))
		got := f.status(r.No, 0, campaign.Read)
		if !got.SentAt.Equal(at(20)) || !got.DeliveredAt.Equal(at(29)) || !got.ReadAt.Equal(at(40)) || !got.FailedAt.IsZero() || !got.AcceptedAt.Equal(at(1)) {
			f.Errorf("got %+v; want SentAt %+v, DeliveredAt %+v, ReadAt %+v, FailedAt zero, AcceptedAt %+v", got, at(20), at(29), at(40), at(1))
		}
	}},
	{"AFailureKeepsItsCode", func(f *fixture) {
		r, _ := f.accepted(1)
		fail := func(code string, s int) campaign.StatusEvent {
			e := event(messageID(r.No, 0), key(0), campaign.Failed, at(s))
			e.Code = code
			return e
		}
		f.apply(fail("131049", 20))
		f.apply(fail("131026", 30), fail("131053", 20))
		f.apply(fail("131053", 20), fail("131026", 30)) // in either order within a batch
		if got := f.status(r.No, 0, campaign.Failed); got.Code != "131049" || !got.FailedAt.Equal(at(20)) {
			f.Errorf(`got %+v; want Code "131049", FailedAt %+v`, got, at(20))
		}
		f.apply(fail("131040", 20)) // of the same instant the least
		if got := f.status(r.No, 0, campaign.Failed); got.Code != "131040" {
			f.Errorf("code = %s, want 131040", got.Code)
		}
		f.apply(fail("131000", 10))
		if got := f.status(r.No, 0, campaign.Failed); got.Code != "131000" || !got.FailedAt.Equal(at(10)) {
			f.Errorf(`got %+v; want Code "131000", FailedAt %+v`, got, at(10))
		}
	}},
	{"RepetitionsAreCountedApart", func(f *fixture) {
		r, _ := f.accepted(2)
		a := f.apply(event(messageID(r.No, 0), key(0), campaign.Sent, at(2)), event("wamid.nobody", 0, campaign.Sent, at(2)))
		if d := cmp.Diff(campaign.Applied{Matched: 1, Orphaned: 1}, a); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		a = f.apply(event(messageID(r.No, 0), key(0), campaign.Sent, at(2)), event("wamid.nobody", 0, campaign.Sent, at(2)), event(messageID(r.No, 1), 0, campaign.Read, at(2)))
		if d := cmp.Diff(campaign.Applied{Matched: 1, Repeated: 2}, a); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
	}},
	{"AnyOrderOfEventsTellsTheSame", func(f *fixture) {
		r, _ := f.accepted(24)
		var es []campaign.StatusEvent
		for seq := range int64(24) {
			for i, s := range []campaign.Status{campaign.Sent, campaign.Failed, campaign.Delivered, campaign.Read} {
				if seq>>i&1 == 1 {
					e := event(messageID(r.No, seq), key(seq), s, at(2+i))
					e.Code = "131000"
					if s != campaign.Failed {
						e.Code = ""
					}
					es = append(es, e, e)
				}
			}
		}
		f.apply(es...)
		want := f.lines(r.No)
		r2, _ := f.accepted(24)
		rng := rand.New(rand.NewPCG(1, 2))
		rng.Shuffle(len(es), func(i, j int) { es[i], es[j] = es[j], es[i] })
		for chunk := range slices.Chunk(es, 5) {
			for i := range chunk {
				var seq int64
				for s := range int64(24) {
					if chunk[i].MessageID == messageID(r.No, s) {
						seq = s
					}
				}
				chunk[i].MessageID = messageID(r2.No, seq)
			}
			f.apply(chunk...)
		}
		got := f.lines(r2.No)
		for seq := range got {
			a, b := want[seq], got[seq]
			b.Run, b.MessageID = a.Run, a.MessageID
			if d := cmp.Diff(a, b); d != "" {
				f.Errorf("seq %d: %s", seq, d)
			}
		}
		f.sound(r2.No)
	}},
	{"WhatWaitsForItsReceiptFoldsAlike", func(f *fixture) {
		r := f.imported(2)
		l := f.lease(r.No, long)
		f.sent(l, 0, 2)
		f.record(acceptance(l, 0))
		for _, e := range []struct {
			status campaign.Status
			code   string
			at     int
		}{{campaign.Failed, "131026", 30}, {campaign.Failed, "131053", 20}, {campaign.Failed, "131049", 20}, {campaign.Failed, "131000", 25}, {campaign.Failed, "131051", 20},
			{campaign.Sent, "", 12}, {campaign.Sent, "", 11}, {campaign.Sent, "", 13}} {
			for seq := range int64(2) { // the second is an orphan
				x := event(messageID(r.No, seq), key(seq), e.status, at(e.at))
				x.Code = e.code
				f.apply(x)
			}
		}
		f.record(acceptance(l, 1))
		for seq := range int64(2) {
			if got := f.status(r.No, seq, campaign.Failed); got.Code != "131049" || !got.FailedAt.Equal(at(20)) || !got.SentAt.Equal(at(11)) {
				f.Errorf("seq %d sent at %s, failed at %s with %s; want %s, %s with 131049", seq, got.SentAt, got.FailedAt, got.Code, at(11), at(20))
			}
		}
	}},
	{"AWebhookThatIsEarlierThanTheReceiptIsKept", func(f *fixture) {
		r := f.imported(20)
		l := f.lease(r.No, long)
		f.sent(l, 0, 20)
		var rs []campaign.Result
		for seq := range int64(20) {
			a := f.apply(event(messageID(r.No, seq), key(seq), campaign.Delivered, at(3)), event(messageID(r.No, seq), key(seq), campaign.Sent, at(2)))
			if a.Orphaned != 2 {
				f.Errorf("got %+v; want Orphaned 2", a)
			}
			rs = append(rs, acceptance(l, seq))
		}
		f.record(rs...)
		for seq := range int64(20) {
			if line := f.status(r.No, seq, campaign.Delivered); !line.SentAt.Equal(at(2)) || line.Adopted {
				f.Errorf("got %+v; want SentAt %+v, not Adopted", line, at(2))
			}
		}
		if s := f.sweep(); s != (campaign.Swept{}) {
			f.Errorf("after all receipts the sweeper finds %+v; want %+v", s, campaign.Swept{})
		}
		at, err := f.l.LastEventAt(f.ctx, r.No)
		f.ok(err)
		if time.Since(at).Abs() > time.Minute {
			f.Errorf("last event at %s; want it at most %s ago", at, time.Minute)
		}
	}},
	{"LastEventAtIsWhenAStatusWasApplied", func(f *fixture) {
		r, _ := f.accepted(1)
		other, _ := f.accepted(1)
		if when, err := f.l.LastEventAt(f.ctx, r.No); err != nil || !when.IsZero() {
			f.Errorf("got %s %v; want no error, zero", when, err)
		}
		f.apply(event(messageID(r.No, 0), key(0), campaign.Sent, at(2)))
		when, err := f.l.LastEventAt(f.ctx, r.No)
		f.ok(err)
		none, err := f.l.LastEventAt(f.ctx, other.No)
		f.ok(err)
		if time.Since(when).Abs() > time.Minute || !none.IsZero() {
			f.Errorf("%s, of another run %s; want the first at most %s ago, the other zero", when, none, time.Minute)
		}
	}},
	{"AnEventFromTheFutureIsBroughtBack", func(f *fixture) {
		r, _ := f.accepted(1)
		for _, c := range []struct{ told, want time.Time }{
			{at(330).Add(instant), at(30)}, // five minutes ahead of what received it is too much
			{time.Time{}, at(30)},          // it has no time
			{at(29), at(29)},
		} {
			e := event(messageID(r.No, 0), key(0), campaign.Sent, c.told)
			e.ReceivedAt = at(30)
			f.apply(e)
			if got := f.status(r.No, 0, campaign.Sent).SentAt; !got.Equal(c.want) {
				f.Errorf("told as sent at %s: sent at %s, want %s", c.told, got, c.want)
			}
		}
		ahead := event(messageID(r.No, 0), key(0), campaign.Delivered, at(330)) // and this is not
		ahead.ReceivedAt = at(30)
		f.apply(ahead)
		if got := f.status(r.No, 0, campaign.Delivered).DeliveredAt; !got.Equal(at(330)) {
			f.Errorf("delivered at %s, want %s", got, at(330))
		}
	}},
	{"OrphansAreDroppedWhenTheyAreOld", func(f *fixture) {
		f.apply(event("wamid.old", 0, campaign.Sent, at(0)), event("wamid.new", 0, campaign.Sent, at(0).Add(instant)))
		const week = 7 * 24 * time.Hour
		f.sweptAt(at(0).Add(week), campaign.Swept{Left: 2})
		f.sweptAt(at(0).Add(week+instant), campaign.Swept{Expired: 1, Left: 1})
	}},
	{"ATemplateThatIsPausedPausesItsRuns", func(f *fixture) {
		r := f.imported(2)
		other := f.imported(1, func(r *campaign.Run) { r.Template = "other" })
		german := f.imported(1, func(r *campaign.Run) { r.Language = "de" })
		l := f.lease(r.No, long)
		tell := func(e campaign.TemplateEvent) {
			e.Name, e.Language = "sale", "en_US"
			_, err := f.l.Apply(f.ctx, campaign.Events{Templates: []campaign.TemplateEvent{e}})
			f.ok(err)
		}
		tell(campaign.TemplateEvent{Event: "FLAGGED"})
		f.sent(l, 0, 1)
		tell(campaign.TemplateEvent{Event: "PAUSED", Reason: "low quality"})
		got := f.run(r.No)
		if got.State != campaign.Paused || got.Reason != campaign.PausedByTemplate || got.Detail == "" {
			f.Errorf(`got %+v; want State Paused, Reason PausedByTemplate, Detail other than ""`, got)
		}
		if g := f.intend(intent(l, 1, 2)); !g.Held {
			f.Errorf("got %+v; want Held", g)
		}
		if f.run(other.No).State != campaign.Ready || f.run(german.No).State != campaign.Ready {
			f.Error("runs of other templates were paused")
		}
		tell(campaign.TemplateEvent{Event: "APPROVED"})
		if got := f.run(r.No); got.State != campaign.Ready || got.Reason != "" {
			f.Errorf(`approved again: %+v; want State Ready, Reason ""`, got)
		}
	}},
	{"EveryTemplateEventHasItsEffect", func(f *fixture) {
		// The table has the state of a ready run after each event, and after an approval that follows.
		for _, c := range []struct {
			event         string
			state, healed campaign.State
		}{
			{"APPROVED", campaign.Ready, campaign.Ready},
			{"REINSTATED", campaign.Ready, campaign.Ready},
			{"FLAGGED", campaign.Ready, campaign.Ready},
			{"LOCKED", campaign.Ready, campaign.Ready},
			{"LIMIT_EXCEEDED", campaign.Ready, campaign.Ready},
			{"NEVER_HEARD_OF", campaign.Ready, campaign.Ready},
			{"PAUSED", campaign.Paused, campaign.Ready},
			{"PENDING", campaign.Paused, campaign.Ready},
			{"IN_APPEAL", campaign.Paused, campaign.Ready},
			{"REJECTED", campaign.Paused, campaign.Ready},
			{"ARCHIVED", campaign.Paused, campaign.Ready},
			{"DISABLED", campaign.Paused, campaign.Paused},
			{"PENDING_DELETION", campaign.Paused, campaign.Paused},
			{"DELETED", campaign.Paused, campaign.Paused},
		} {
			r := f.imported(1, func(r *campaign.Run) { r.Template = strings.ToLower(c.event) })
			tell := func(event string) campaign.Run {
				_, err := f.l.Apply(f.ctx, campaign.Events{Templates: []campaign.TemplateEvent{
					{Name: r.Template, Language: r.Language, Event: event, Reason: "WHY"}}})
				f.ok(err)
				return f.run(r.No)
			}
			got := tell(c.event)
			if got.State != c.state {
				f.Errorf("after %s the run is %s, want %s", c.event, got.State, c.state)
			}
			if want := "template " + r.Template + " (en_US) is " + c.event + ": WHY"; c.state == campaign.Paused && got.Detail != want {
				f.Errorf("after %s the detail is %q, want %q", c.event, got.Detail, want)
			}
			if got := tell("APPROVED"); got.State != c.healed {
				f.Errorf("approved after %s the run is %s, want %s", c.event, got.State, c.healed)
			}
		}
	}},
	{"ALaterPauseKeepsADisabledTemplateSo", func(f *fixture) {
		r := f.imported(1)
		tell := func(event string) campaign.Run {
			_, err := f.l.Apply(f.ctx, campaign.Events{Templates: []campaign.TemplateEvent{{Name: r.Template, Language: r.Language, Event: event}}})
			f.ok(err)
			return f.run(r.No)
		}
		for _, event := range []string{"PAUSED", "DISABLED", "IN_APPEAL", "APPROVED", "UNPAUSED", "REINSTATED", "UNARCHIVED"} {
			want := campaign.Paused
			if got := tell(event); got.State != want {
				f.Errorf("after %s the run is %s, want %s", event, got.State, want)
			}
		}
		if got, want := f.run(r.No).Detail, "template sale (en_US) is DISABLED"; got != want {
			f.Errorf("detail = %q, want %q", got, want)
		}
		_, err := f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Paused}, campaign.Ready, "", "")
		f.ok(err)
		for _, event := range []string{"UNPAUSED", "REINSTATED", "UNARCHIVED"} { // the operator's resume forgets the DISABLED
			if got, want := tell("PAUSED").State, campaign.Paused; got != want {
				f.Errorf("after PAUSED the run is %s, want %s", got, want)
			}
			if got, want := tell(event).State, campaign.Ready; got != want {
				f.Errorf("after %s the run is %s, want %s", event, got, want)
			}
		}
	}},
	{"AnApprovalLeavesOtherPausesAlone", func(f *fixture) {
		r := f.imported(1)
		_, err := f.l.SetState(f.ctx, r.No, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByOperator, "")
		f.ok(err)
		for _, e := range []campaign.TemplateEvent{{Event: "PAUSED"}, {Event: "APPROVED"}} {
			e.Name, e.Language = "sale", "en_US"
			_, err = f.l.Apply(f.ctx, campaign.Events{Templates: []campaign.TemplateEvent{e}})
			f.ok(err)
		}
		if got := f.run(r.No); got.State != campaign.Paused || got.Reason != campaign.PausedByOperator {
			f.Errorf("got %+v; want State Paused, Reason PausedByOperator", got)
		}
	}},
}

var adoptionPromises = []promise{
	{"AWebhookProvesADoubtAccepted", func(f *fixture) {
		r := f.imported(2)
		l := f.lease(r.No, long)
		f.sent(l, 0, 2)
		f.record(doubtful(l, 0), acceptance(l, 1))
		f.apply(event("wamid.lost", key(0), campaign.Delivered, at(4)), event("wamid.lost", key(0), campaign.Sent, at(2)))
		s := f.sweep()
		if d := cmp.Diff(campaign.Swept{Adopted: 1}, s); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		got := f.status(r.No, 0, campaign.Delivered)
		if !got.Adopted || got.MessageID != "wamid.lost" || got.Attempts != 1 || !got.SentAt.Equal(at(2)) || !got.AcceptedAt.Equal(at(2)) || got.Reason != "" {
			f.Errorf(`got %+v; want Adopted, MessageID "wamid.lost", Attempts 1, SentAt %+v, AcceptedAt %+v, Reason ""`, got, at(2), at(2))
		}
		f.apply(event("wamid.lost", key(0), campaign.Read, at(9)))
		f.status(r.No, 0, campaign.Read)
		_, funnel, err := f.l.Tallies(f.ctx, r.No)
		f.ok(err)
		if d := cmp.Diff(campaign.Funnel{Accepted: 2, Sent: 1, Delivered: 1, Read: 1, Adopted: 1}, funnel); d != "" {
			f.Errorf("-want +got:\n%s", d)
		}
		p, err := f.l.Park(f.ctx, l, time.Time{}, time.Minute)
		f.ok(err)
		if !p.Done {
			f.Errorf("got %+v; want Done", p)
		}
		f.sound(r.No)
	}},
	{"AnUnknownIsAdoptedForEver", func(f *fixture) {
		r := f.imported(1)
		l := f.lease(r.No, long)
		f.sent(l, 0, 1)
		f.record(doubtful(l, 0))
		_, err := f.l.Resolve(f.ctx, l, at(900), campaign.Hold)
		f.ok(err)
		_, err = f.l.Park(f.ctx, l, time.Time{}, time.Minute)
		f.ok(err)
		rs, err := f.l.FinishRuns(f.ctx)
		f.ok(err)
		if len(rs) != 1 {
			f.Errorf("finished %v; want length 1", rs)
		}
		f.status(r.No, 0, campaign.Unknown)
		e := event("wamid.lost", key(0), campaign.Sent, at(3))
		e.Connection = "" // an event may name none
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
		_, err := f.l.Recover(f.ctx, l, now)
		f.ok(err)
		f.apply(event("wamid.lost", key(0), campaign.Sent, now))
		if s := f.sweep(); s.Adopted != 1 {
			f.Errorf("got %+v; want Adopted 1", s)
		}
		f.status(r.No, 0, campaign.Sent)
	}},
	{"OnlyARightTimeConnectionAndRecipientFit", func(f *fixture) {
		r := f.imported(1)
		l := f.lease(r.No, long)
		f.sent(l, 0, 1)
		f.record(doubtful(l, 0)) // intent at 0, doubt at 1
		otherConn := event("wamid.conn", key(0), campaign.Sent, at(2))
		otherConn.Connection = "conn_2"
		f.apply(event("wamid.before", key(0), campaign.Sent, at(0).Add(-early-instant)), event("wamid.after", key(0), campaign.Sent, at(1).Add(late+instant)), otherConn,
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
		r := f.imported(2)
		l := f.lease(r.No, long)
		f.sent(l, 0, 2)
		f.record(doubtful(l, 0), doubtful(l, 1))
		f.apply(event("wamid.0", key(0), campaign.Sent, at(0).Add(-early)), event("wamid.0", key(0), campaign.Read, at(9999)),
			event("wamid.1", 0, campaign.Read, at(9999)), event("wamid.1", 0, campaign.Sent, at(72)))
		f.swept(campaign.Swept{Adopted: 1, Left: 2})
		f.apply(event("wamid.1", key(1), campaign.Sent, at(71))) // told again, now with its recipient
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
		f.record(second) // it was not sent
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
	{"WhatIsKnownNotToBeSentIsNeverAdopted", func(f *fixture) {
		r := f.imported(3)
		l := f.lease(r.No, long)
		f.sent(l, 0, 2)
		f.record(deferral(l, 0, at(0)), refusal(l, 1))
		f.apply(event("wamid.0", key(0), campaign.Sent, at(1)), event("wamid.1", key(1), campaign.Sent, at(1)), event("wamid.2", key(2), campaign.Sent, at(1)))
		if s := f.sweep(); s.Adopted != 0 || s.Left != 3 {
			f.Errorf("got %+v; want Adopted 0, Left 3", s)
		}
		f.status(r.No, 0, campaign.Queued)
		f.status(r.No, 1, campaign.Refused)
		f.status(r.No, 2, campaign.Queued)
	}},
}
