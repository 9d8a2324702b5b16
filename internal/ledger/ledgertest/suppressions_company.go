package ledgertest

import (
	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

var companyPromises = []promise{
	{"AnOptOutFromOneCompanyStopsItsMessagesAlone", func(f *fixture) {
		_, l := f.leased(4, long)
		stop := func(seq int64, company string) campaign.Suppression {
			s := campaign.NewSuppression(key(seq), "", campaign.ScopeMarketing, "stop", at(5))
			return s.OfCompany(company)
		}
		stops := []campaign.Suppression{stop(0, "c"), stop(0, "c"), stop(0, "c2"), stop(1, "c2"), stop(2, "")}
		if n, err := f.l.Suppress(f.ctx, stops); err != nil || n != 4 {
			f.Fatalf("suppressed %d, %v; want 4", n, err)
		}
		for _, from := range []int64{0, 2} {
			asks := intent(l, from, from+2)
			if asks.Origin.Company = "c"; from == 2 {
				asks.Keys = nil // the ledger reads them itself
			}
			want := campaign.Granted{To: from + 2, Skipped: map[int64]campaign.SkipReason{from: campaign.OptedOut}}
			if d := cmp.Diff(want, f.intend(asks)); d != "" {
				f.Errorf("an intent of the company c from %d (-want +got):\n%s", from, d)
			}
		}
		for _, c := range []struct {
			companies []string
			want      int
		}{{[]string{"c"}, 2}, {[]string{"c2"}, 3}, {[]string{"c3"}, 1}, {[]string{"c3", "c2"}, 3}, {[]string{""}, 3}, {nil, 3}} {
			got, err := f.l.SuppressedKeys(f.ctx, keys(0, 4), true, c.companies, at(6))
			if err != nil || len(got) != c.want {
				f.Errorf("suppressed for %q: %v, %v; want %d", c.companies, got, err, c.want)
			}
		}
		f.done(f.l.Apply(f.ctx, campaign.Events{Lifted: []campaign.Suppression{{Key: key(0), Company: "c2", At: at(9)}}}))
		var left []campaign.Suppression
		for s, err := range f.l.Suppressions(f.ctx) {
			f.ok(err)
			left = append(left, s)
		}
		if d := cmp.Diff([]campaign.Suppression{stop(0, "c"), stop(1, "c2"), stop(2, "")}, left); d != "" {
			f.Errorf("after the company c2 was resumed (-want +got):\n%s", d)
		}
		if n, err := f.l.Unsuppress(f.ctx, []campaign.Suppression{stop(0, "c2"), stop(0, ""), stop(1, "")}); err != nil || n != 2 {
			f.Errorf("removed %d, %v; want 2: without a company those of every company too", n, err)
		}
	}},
	{"ARefusalSaysWhoseOptOutItIs", func(f *fixture) {
		_, l := f.begun(2, 2)
		optOut, unreachable := refusal(l, 0), refusal(l, 1)
		stop := campaign.NewSuppression(key(0), "", campaign.ScopeMarketing, "refused:131050", at(5))
		gone := campaign.NewSuppression(key(1), "", campaign.ScopeUnreachable, "refused:131026", at(5))
		optOut.Suppress, unreachable.Suppress = &stop, &gone
		f.record(optOut, unreachable)
		want := []campaign.Suppression{stop.OfCompany("c"), gone}
		var got []campaign.Suppression
		for s, err := range f.l.Suppressions(f.ctx) {
			f.ok(err)
			got = append(got, s)
		}
		if d := cmp.Diff(want, got); d != "" {
			f.Errorf("suppressed by refusals to a ledger with PerCompany (-want +got):\n%s", d)
		}
	}},
}
