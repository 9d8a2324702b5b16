package ledgertest

import (
	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

// optOut is an opt-out from marketing of a number, with its proof.
func optOut(key int64, to string, second int) campaign.Suppression {
	return campaign.NewSuppression(key, to, campaign.ScopeMarketing, "stop", at(second)).
		Proven(campaign.Proof{Connection: "conn_1", Message: "wamid.IN", Text: "STOP"})
}

var movePromises = []promise{
	{"AChangedNumberCarriesItsOptOut", func(f *fixture) {
		unreachable := campaign.NewSuppression(1, "+1", campaign.ScopeUnreachable, "failed:131026", at(0))
		old, company := optOut(1, "+1", 5), optOut(1, "+1", 6).OfCompany("c")
		later := optOut(3, "+3", 20) // of the person who has the number 3 since then
		move := func(from, to int64, a, b string, second int) campaign.Move {
			return campaign.Move{From: from, To: to, FromPhone: a, ToPhone: b, At: at(second)}
		}
		first, second := move(1, 2, "+1", "+2", 10), move(2, 4, "+2", "+4", 11)
		for _, e := range []campaign.Events{
			{Suppressions: []campaign.Suppression{unreachable, old}},
			{Moved: []campaign.Move{first, move(3, 5, "+3", "+5", 10), move(7, 7, "+7", "+7", 10), move(0, 8, "", "+8", 10)}},
			{Suppressions: []campaign.Suppression{company, later}}, // company arrives late
			{Moved: []campaign.Move{second, first}},
		} {
			f.done(f.l.Apply(f.ctx, e))
		}
		want := []campaign.Suppression{old, company, unreachable, first.Carried(old), first.Carried(company), later,
			second.Carried(first.Carried(old)), second.Carried(first.Carried(company))}
		if d := cmp.Diff(want, f.suppressed()); d != "" {
			f.Errorf("after moves from 1 to 2 to 4 (-want +got):\n%s", d)
		}
		got, err := f.l.SuppressionsOf(f.ctx, 4)
		if d := cmp.Diff(want[6:], got); d != "" || err != nil {
			f.Errorf("of the last number: %v (-want +got):\n%s", err, d)
		}
		if got, err := f.l.SuppressionsOf(f.ctx, 6); err != nil || len(got) != 0 {
			f.Errorf("of a number that is not suppressed: got %v, %v; want none", got, err)
		}
	}},
	{"AMoveDeliveredAgainDoesNotUndoALaterResume", func(f *fixture) {
		stop := campaign.Events{Suppressions: []campaign.Suppression{optOut(1, "+1", 5)}}
		move := campaign.Events{Moved: []campaign.Move{{From: 1, To: 2, FromPhone: "+1", ToPhone: "+2", At: at(10)}}}
		resume := campaign.Events{Lifted: []campaign.Suppression{{Key: 2, At: at(20), ReceivedAt: at(20)}}}
		for _, e := range []campaign.Events{stop, move, resume, move, stop} {
			f.done(f.l.Apply(f.ctx, e))
		}
		if got, err := f.l.SuppressionsOf(f.ctx, 2); err != nil || len(got) != 0 {
			f.Errorf("the new number, whose person resumed: got %+v, %v; want none", got, err)
		}
		f.suppressedAs(stop.Suppressions[0], "the old number")
	}},
	{"AnImportFollowsTheNumbersThatMoved", func(f *fixture) {
		f.done(f.l.Apply(f.ctx, campaign.Events{Moved: []campaign.Move{{From: 1, To: 2, FromPhone: "+1", ToPhone: "+2", At: at(10)}}}))
		before, since := optOut(1, "+1", 5), optOut(1, "+1", 12)
		before.Scope, before.Source = campaign.ScopeAll, "import:crm"
		for _, s := range []campaign.Suppression{before, since} {
			n, err := f.l.Suppress(f.ctx, []campaign.Suppression{s})
			if err != nil || n != 1 {
				f.Errorf("added %d, %v; want 1", n, err)
			}
		}
		got, err := f.l.SuppressionsOf(f.ctx, 2)
		if err != nil || len(got) != 1 || got[0].Scope != campaign.ScopeAll || got[0].Proof.MovedFrom != "+1" {
			f.Errorf("the new number: got %+v, %v; want only what is older than the move", got, err)
		}
	}},
	{"AProofIsKeptWhenASuppressionIsRepeated", func(f *fixture) {
		imported := campaign.NewSuppression(1, "+1", campaign.ScopeMarketing, "import:crm", at(0))
		first, second := optOut(1, "+1", 5), optOut(1, "+1", 9)
		second.Proof.Message = "wamid.SECOND"
		for _, s := range []campaign.Suppression{imported, first, second} {
			f.done(f.l.Apply(f.ctx, campaign.Events{Suppressions: []campaign.Suppression{s}}))
		}
		want := imported
		want.At, want.Proof = second.At, first.Proof
		f.suppressedAs(want, "an import, then two opt-outs")
		if n, err := f.l.OptOuts(f.ctx, 0, at(0)); err != nil || n != 0 {
			f.Errorf("opt-outs of recipients: got %d, %v; want 0: the source is an import", n, err)
		}
	}},
}
