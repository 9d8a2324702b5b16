package ledgertest

import (
	"time"

	"campaignd/campaign"
)

// Origin is ledger.Options.Origin of the ledgers that Run opens: conn_1 and conn_2 are of one
// account, every other connection is of another.
func Origin(connection string) campaign.Origin {
	o := campaign.Origin{Key: "k", Company: "c", Account: "acc", Connection: connection}
	if connection != "conn_1" && connection != "conn_2" {
		o.Account = "acc2"
	}
	return o
}

// accepts makes a run whose n deliveries are accepted over conn_1.
func (f *fixture) accepts(n int64) campaign.Run {
	f.Helper()
	r, l := f.begun(n, n)
	for seq := range n {
		f.record(acceptance(l, seq))
	}
	return r
}

// failure is a failed status of a message.
func failure(id, code string, when time.Time) campaign.StatusEvent {
	e := event(id, 0, campaign.Failed, when)
	e.Code = code
	return e
}

// of is the origin of a run's messages over a connection.
func of(connection string, r campaign.Run) campaign.Origin {
	o := Origin(connection)
	o.Template, o.Language, o.Run = r.Template, r.Language, r.ID()
	return o
}

var failureHoldPromises = []promise{
	{"AFailedStatusHoldsItsAccountAndNoOther", func(f *fixture) {
		r := f.accepts(2)
		next := f.lease(f.imported(1).No, long)
		f.apply(failure(messageID(r.No, 0), "131026", at(5)), failure(messageID(r.No, 0), "", at(5)), failure(messageID(r.No, 0), "x", at(5)))
		f.listed(true)
		f.apply(failure(messageID(r.No, 0), "131042", at(4)), failure(messageID(r.No, 1), "131042", at(6)))
		f.held(next, 0, Origin("conn_1"), "131042")
		f.held(next, 0, Origin("conn_2"), "131042")
		f.held(next, 0, Origin("conn_3"), "")
		hs, err := f.l.Holds(f.ctx, false)
		f.ok(err)
		if len(hs) != 1 || hs[0].Scope != campaign.HoldAccount || hs[0].ID != "acc" || hs[0].Source != campaign.HoldByStatus ||
			!hs[0].Since.Equal(at(1)) || hs[0].Detail == "" {
			f.Errorf("holds %+v; want one of the account acc, by a status, since the acceptance at %s, with a sentence", hs, at(1))
		}
		f.lifts(1, well(campaign.HoldByOperator, at(7)))
		f.apply(failure(messageID(r.No, 0), "131042", at(4)), failure(messageID(r.No, 1), "131042", at(3)))
		f.listed(false) // the same events again, and an older one
		f.held(next, 0, Origin("conn_2"), "")
	}},
	{"AMessageOfBeforeTheHealHoldsNothing", func(f *fixture) {
		r, l := f.begun(4, 4)
		for seq, when := range []time.Time{at(1), at(2), at(40)} {
			a := acceptance(l, int64(seq))
			a.At = when
			f.record(a)
		}
		f.apply(failure(messageID(r.No, 0), "131042", at(10)))
		f.lifts(1, well(campaign.HoldByEvent, at(20)))
		f.apply(failure(messageID(r.No, 1), "131042", at(30)))
		f.listed(false) // the message was accepted before the hold was lifted
		next := f.lease(f.imported(1).No, long)
		f.held(next, 0, Origin("conn_1"), "")
		f.apply(failure(messageID(r.No, 2), "131042", at(42)))
		f.held(next, 0, Origin("conn_1"), "131042")
		f.lifts(1, well(campaign.HoldByEvent, at(41))) // the event of the lift comes after that of the failure
		f.apply(failure(messageID(r.No, 3), "131042", at(50)))
		late := acceptance(l, 3)
		late.At = at(39)
		f.record(late) // its failed status came before its receipt
		f.listed(false)
	}},
	{"AFailedStatusHoldsTheTemplateOfItsRun", func(f *fixture) {
		r := f.accepts(1)
		f.apply(failure(messageID(r.No, 0), "132015", time.Now()))
		other := f.imported(1, func(r *campaign.Run) { r.Template = "other" })
		f.held(f.lease(other.No, long), 0, of("conn_2", other), "")
		same := f.imported(1)
		l := f.lease(same.No, long)
		f.held(l, 0, of("conn_2", same), "132015")
		f.held(l, 0, of("conn_3", same), "") // another account's template of the same name
	}},
	{"AStatusThatComesBeforeItsReceiptHolds", func(f *fixture) {
		r, l := f.begun(1, 1)
		f.apply(failure(messageID(r.No, 0), "131042", at(5)))
		f.listed(true) // no delivery has this message id yet
		f.record(acceptance(l, 0))
		f.held(f.lease(f.imported(1).No, long), 0, Origin("conn_2"), "131042")
	}},
	{"AnAdoptedFailureHolds", func(f *fixture) {
		_, l := f.begun(1, 1)
		f.record(doubtful(l, 0))
		e := failure("wamid.adopted", "131042", at(2))
		e.Recipient = key(0)
		f.apply(e)
		if s := f.sweep(); s.Adopted != 1 {
			f.Fatalf("swept %+v; want Adopted 1", s)
		}
		f.held(f.lease(f.imported(1).No, long), 0, Origin("conn_2"), "131042")
	}},
	{"EventsHoldAndLift", func(f *fixture) {
		l := f.lease(f.imported(1).No, long)
		apply := func(hs []campaign.Hold, ls ...campaign.Lift) {
			f.Helper()
			f.done(f.l.Apply(f.ctx, campaign.Events{Holds: hs, Lifts: ls}))
		}
		apply([]campaign.Hold{failedAccount(minutes(-5))})
		f.held(l, 0, Origin("conn_1"), "131042")
		apply(nil, well(campaign.HoldByEvent, minutes(-4)))
		f.held(l, 0, Origin("conn_1"), "")
		apply([]campaign.Hold{failedAccount(minutes(-3))}, well(campaign.HoldByEvent, minutes(-2)))
		f.held(l, 0, Origin("conn_1"), "")
		apply([]campaign.Hold{failedAccount(minutes(0))}, well(campaign.HoldByEvent, minutes(-1)))
		f.held(l, 0, Origin("conn_1"), "131042")
	}},
	{"ALateEditOfATemplateIsListedAsEnded", func(f *fixture) {
		edit := campaign.Hold{Scope: campaign.HoldTemplate, ID: campaign.TemplateID("acc", "sale", "en_US"),
			Reason: campaign.TemplateInReview, Detail: "in review", Source: campaign.HoldByEvent, Since: minutes(-10)}
		f.lifts(0, campaign.Lift{Scope: edit.Scope, ID: edit.ID, At: minutes(-5), ReceivedAt: minutes(-5), By: campaign.HoldByEvent})
		for range 2 {
			f.done(f.l.Apply(f.ctx, campaign.Events{Holds: []campaign.Hold{edit}}))
			f.listed(false)
			hs, err := f.l.Holds(f.ctx, true)
			f.ok(err)
			if len(hs) != 1 || !hs[0].Since.Equal(edit.Since) || hs[0].Lifted.IsZero() || hs[0].LiftedBy != campaign.HoldByEvent {
				f.Errorf("holds %+v; want the edit of %s, ended by an event", hs, edit.Since)
			}
		}
	}},
	{"ABatchWithAWrongHoldChangesNothing", func(f *fixture) {
		r := f.accepts(1)
		bad := failedAccount(minutes(0))
		bad.ID = ""
		e := campaign.Events{Statuses: []campaign.StatusEvent{event(messageID(r.No, 0), key(0), campaign.Read, at(5))},
			Holds: []campaign.Hold{failedAccount(minutes(0)), bad}}
		if _, err := f.l.Apply(f.ctx, e); err == nil {
			f.Errorf("applied a hold without an id: %v; want an error", err)
		}
		f.status(r.No, 0, campaign.Accepted)
		f.listed(true)
	}},
}
