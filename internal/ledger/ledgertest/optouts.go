package ledgertest

import (
	"time"

	"campaignd/campaign"
)

var optOutPromises = []promise{
	{"AStopDeliveredAgainDoesNotUndoALaterResume", func(f *fixture) {
		of := func(second int, company string) []campaign.Suppression {
			return []campaign.Suppression{{Key: key(1), Scope: campaign.ScopeMarketing, Company: company, Source: "stop", At: at(second)}}
		}
		in := func(e campaign.Events, want int) {
			f.Helper()
			f.done(f.l.Apply(f.ctx, e))
			if all := f.suppressed(); len(all) != want {
				f.Errorf("after %+v: %+v; want %d suppressions", e, all, want)
			}
		}
		in(campaign.Events{Suppressions: of(10, "")}, 1)
		in(campaign.Events{Lifted: of(20, "")}, 0)
		in(campaign.Events{Suppressions: of(10, "")}, 0) // the service delivers the opt-out again
		in(campaign.Events{Lifted: of(15, "")}, 0)       // and an older resume
		in(campaign.Events{Suppressions: of(18, "")}, 0)
		in(campaign.Events{Suppressions: of(18, "c")}, 1) // that resume did not name this company
		in(campaign.Events{Suppressions: of(21, "")}, 2)
		if n, err := f.l.Suppress(f.ctx, of(5, "")); err != nil || n != 0 {
			f.Errorf("an import: %d, %v; want 0 added", n, err)
		}
		in(campaign.Events{Lifted: of(30, "")}, 1)
		if n, err := f.l.Suppress(f.ctx, of(5, "")); err != nil || n != 1 { // an operator decides anew
			f.Errorf("an import after a resume: %d, %v; want 1 added", n, err)
		}
	}},
	{"AnOptOutThatWasRemovedDoesNotComeBack", func(f *fixture) {
		all, one := optOut(1, "+1", 10), optOut(1, "+1", 12).OfCompany("c")
		stops := campaign.Events{Suppressions: []campaign.Suppression{all, one},
			Moved: []campaign.Move{{From: 1, To: 2, FromPhone: "+1", ToPhone: "+2", At: at(20)}}}
		apply := func(e campaign.Events, want int) {
			f.Helper()
			f.done(f.l.Apply(f.ctx, e))
			f.hasSuppressed(want, "after %+v", e)
		}
		apply(stops, 4)
		for _, number := range []struct{ key, left int }{{2, 2}, {1, 0}} {
			of := []campaign.Suppression{{Key: int64(number.key), Scope: campaign.ScopeMarketing}}
			if n, err := f.l.Unsuppress(f.ctx, of); n != 2 || err != nil {
				f.Errorf("removed %d of the number %d, %v; want 2", n, number.key, err)
			}
			apply(stops, number.left) // delivered again
		}
		apply(campaign.Events{Suppressions: []campaign.Suppression{optOut(1, "+1", 11)}}, 2) // of the two numbers, for all companies
		apply(campaign.Events{Lifted: []campaign.Suppression{{Key: 1, At: at(30)}, {Key: 2, At: at(30)}}}, 0)
		if n, err := f.l.Suppress(f.ctx, []campaign.Suppression{one}); err != nil || n != 1 { // an operator decides anew
			f.Errorf("an import after the removal: %d, %v; want 1 added", n, err)
		}
		ahead := []campaign.Suppression{{Key: 3, Scope: campaign.ScopeMarketing, Source: "import", At: time.Now().Add(time.Hour)}}
		f.done(f.l.Suppress(f.ctx, ahead))
		f.done(f.l.Unsuppress(f.ctx, ahead))
		ahead[0].At = time.Now().Add(time.Second)
		apply(campaign.Events{Suppressions: ahead}, 2) // a stop after the removal of an import from the future
	}},
	{"AStopThatWasTakenBackLendsNoProof", func(f *fixture) {
		var twice []campaign.Suppression
		for _, second := range []int{10, 30} {
			twice = append(twice, campaign.NewSuppression(1, "+1", campaign.ScopeMarketing, "stop", at(second)).
				Proven(campaign.Proof{Message: at(second).String()}))
		}
		for _, e := range []campaign.Events{{Lifted: []campaign.Suppression{{Key: 1, At: at(20)}}}, {Suppressions: twice}} {
			f.done(f.l.Apply(f.ctx, e))
		}
		f.suppressedAs(twice[1], "a resume, then a stop before it and one after it")
	}},
	{"OptOutsOfARunAreOfThoseItSentTo", func(f *fixture) {
		other := func(r *campaign.Run) { r.Campaign = "other" }
		r, o := f.imported(10), f.imported(10, other)
		l := f.lease(r.No, long)
		stop := func(seq int64, source string, second int) campaign.Suppression {
			return campaign.Suppression{Key: key(seq), Scope: campaign.ScopeMarketing, Source: source, At: at(second)}
		}
		_, err := f.l.Suppress(f.ctx, []campaign.Suppression{stop(0, "stop", 20)}) // before the run reaches the recipient
		f.ok(err)
		f.intend(intent(l, 0, 8))
		for seq := int64(1); seq < 8; seq++ {
			f.record(acceptance(l, seq))
		}
		company, all := stop(4, "stop", 20), stop(5, "stop", 20)
		company.Company, all.Scope = "c", campaign.ScopeAll
		_, err = f.l.Suppress(f.ctx, []campaign.Suppression{
			stop(1, "stop", 10), stop(2, "button", 9), stop(3, "user_preferences", 20), company, all,
			stop(6, "import", 20), stop(7, "operator", 20), stop(8, "stop", 20), stop(100, "failed:131050", 20)})
		f.ok(err)
		for _, c := range []struct {
			about string
			no    campaign.RunNo
			since int
			want  int64
		}{
			{"of all since 10", 0, 10, 6}, {"of all since 9", 0, 9, 7}, {"of all since 21", 0, 21, 0},
			{"of the run since 10", r.No, 10, 3}, {"of the run since 9", r.No, 9, 4}, {"of a run that sent nothing", o.No, 0, 0},
		} {
			if got, err := f.l.OptOuts(f.ctx, c.no, at(c.since)); err != nil || got != c.want {
				f.Errorf("%s: got %d, %v; want %d", c.about, got, err, c.want)
			}
		}
	}},
	{"AnImportIsNoOptOutWhateverItsSource", func(f *fixture) {
		r := f.accepts(2)
		in := campaign.Suppression{Key: key(1), Scope: campaign.ScopeMarketing, Source: "web_form", At: at(20)}
		f.done(f.l.Suppress(f.ctx, []campaign.Suppression{in.Proven(campaign.Proof{File: "crm.csv", Line: 2})}))
		for _, no := range []campaign.RunNo{0, r.No} {
			if got, err := f.l.OptOuts(f.ctx, no, at(0)); err != nil || got != 0 {
				f.Errorf("opt-outs of run %d: got %d, %v; want 0: an import brought them", no, got, err)
			}
		}
	}},
}
