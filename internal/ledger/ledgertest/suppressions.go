package ledgertest

import (
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	"github.com/google/go-cmp/cmp"
)

// suppressed reads the whole list.
func (f *fixture) suppressed() (all []campaign.Suppression) {
	f.Helper()
	for s, err := range f.l.Suppressions(f.ctx) {
		f.ok(err)
		all = append(all, s)
	}
	return all
}

var suppressionPromises = []promise{
	{"SuppressIsIdempotentPerNumberAndScope", func(f *fixture) {
		s := campaign.Suppression{Key: 5, To: "+5", Scope: campaign.ScopeMarketing, Source: "import", At: at(0)}
		all := s
		all.Scope, all.Source = campaign.ScopeAll, "operator"
		n, err := f.l.Suppress(f.ctx, []campaign.Suppression{s, all, s})
		f.ok(err)
		m, err := f.l.Suppress(f.ctx, []campaign.Suppression{s})
		f.ok(err)
		if n != 2 || m != 0 {
			f.Errorf("added %d, then %d; want 2, 0", n, m)
		}
		if got := f.suppressed(); len(got) != 2 {
			f.Errorf("got %+v; want length 2", got)
		}
		n, err = f.l.Unsuppress(f.ctx, []campaign.Suppression{s, s})
		f.ok(err)
		if d := cmp.Diff([]campaign.Suppression{all}, f.suppressed()); n != 1 || d != "" {
			f.Errorf("removed %d: %s", n, d)
		}
	}},
	{"SuppressionsAreListedByNumber", func(f *fixture) {
		var in []campaign.Suppression
		for i := 2500; i > 0; i-- {
			in = append(in, campaign.Suppression{Key: int64(i), To: fmt.Sprintf("+%d", i), Scope: campaign.ScopeAll, Source: "import", At: at(0)})
		}
		n, err := f.l.Suppress(f.ctx, in)
		f.ok(err)
		got := f.suppressed()
		if n != 2500 || len(got) != 2500 {
			f.Fatalf("added %d, listed %d; want 2500, length 2500", n, len(got))
		}
		for i, s := range got {
			if s.Key != int64(i+1) {
				f.Fatalf("number %d is %d; want Key %+v", i, s.Key, int64(i+1))
			}
		}
	}},
	{"SuppressedKeysSaysWhy", func(f *fixture) {
		_, err := f.l.Suppress(f.ctx, []campaign.Suppression{
			{Key: 1, Scope: campaign.ScopeMarketing}, {Key: 2, Scope: campaign.ScopeAll}, {Key: 2, Scope: campaign.ScopeMarketing},
			{Key: 3, Scope: campaign.ScopeUnreachable, Until: at(7).Add(instant)}, {Key: 4, Scope: campaign.ScopeUnreachable, Until: at(7)},
			{Key: 255, Scope: campaign.ScopeUnreachable}, {Key: 255, Scope: campaign.ScopeMarketing},
			{Key: 256, Scope: campaign.ScopeUnreachable}, {Key: 256, Scope: campaign.ScopeAll}, {Key: 999, Scope: campaign.ScopeAll},
			{Key: 1000, Scope: campaign.ScopeAll}})
		f.ok(err)
		var ks []int64
		for k := range int64(1000) {
			ks = append(ks, k)
		}
		for marketing, want := range map[bool]map[int64]campaign.SkipReason{
			true: {1: campaign.OptedOut, 2: campaign.Suppressed, 3: campaign.Unreachable, 255: campaign.OptedOut, 256: campaign.Suppressed,
				999: campaign.Suppressed},
			false: {2: campaign.Suppressed, 3: campaign.Unreachable, 255: campaign.Unreachable, 256: campaign.Suppressed, 999: campaign.Suppressed},
		} {
			got, err := f.l.SuppressedKeys(f.ctx, ks, marketing, nil, at(7))
			f.ok(err)
			if d := cmp.Diff(want, got); d != "" {
				f.Errorf("a run with marketing %v (-want +got):\n%s", marketing, d)
			}
		}
	}},
	{"ARepeatedSuppressionIsNeverShortened", func(f *fixture) {
		forever, soon, later := time.Time{}, at(10), at(20)
		for i, c := range []struct{ first, second, want time.Time }{
			{forever, soon, forever}, {soon, forever, forever}, {soon, later, later}, {later, soon, later}, {forever, forever, forever},
		} {
			for j, scope := range []campaign.Scope{campaign.ScopeMarketing, campaign.ScopeAll, campaign.ScopeUnreachable} {
				for k, calls := range []string{"one call", "two calls", "a webhook"} {
					s := campaign.Suppression{Key: int64(1 + 100*i + 10*j + k), To: "+1", Scope: scope, Source: "stop", At: at(0), Until: c.first}
					again := s
					again.Until = c.second
					want := s
					want.Until = c.want
					f.suppressTwice(calls, s, again, want)
				}
			}
		}
	}},
	{"ARepeatedSuppressionKeepsItsFirstSource", func(f *fixture) {
		for k, calls := range []string{"one call", "two calls", "a webhook"} {
			for i, c := range []struct{ first, second, want campaign.Suppression }{
				{campaign.Suppression{Source: "import", At: at(0)}, campaign.Suppression{To: "+1", Source: "stop", At: at(9)},
					campaign.Suppression{To: "+1", Source: "import", At: at(9)}},
				{campaign.Suppression{To: "+1", Source: "stop", At: at(9), Proof: campaign.Proof{Text: "STOP"}},
					campaign.Suppression{To: "+2", Source: "import", At: at(0), Proof: campaign.Proof{Text: "no"}},
					campaign.Suppression{To: "+1", Source: "stop", At: at(9), Proof: campaign.Proof{Text: "STOP"}}},
				{campaign.Suppression{Source: "import", At: at(9)},
					campaign.Suppression{Source: "stop", At: at(9), Proof: campaign.Proof{Text: "STOP"}},
					campaign.Suppression{Source: "import", At: at(9), Proof: campaign.Proof{Text: "STOP"}}},
			} {
				for _, s := range []*campaign.Suppression{&c.first, &c.second, &c.want} {
					s.Key, s.Scope = int64(1+10*k+i), campaign.ScopeMarketing
				}
				f.suppressTwice(calls, c.first, c.second, c.want)
			}
		}
	}},
	{"AnotherSourceOutlivesABlock", func(f *fixture) {
		for k, calls := range []string{"one call", "two calls"} {
			for i, block := range []string{campaign.SourceBlock, "refused:recipient_blocked"} {
				s := campaign.Suppression{Key: int64(1 + 10*k + i), To: "+1", Scope: campaign.ScopeAll, Company: "c", Source: block, At: at(0)}
				added := s
				added.Source = "operator"
				f.suppressTwice(calls, s, added, added)
				f.suppressTwice(calls, added, s, added)
			}
		}
	}},
	{"ANumberThatIsNoneIsNotSuppressed", func(f *fixture) {
		n, err := f.l.Suppress(f.ctx, []campaign.Suppression{{Scope: campaign.ScopeAll}})
		f.ok(err)
		if got := f.suppressed(); n != 0 || len(got) != 0 {
			f.Errorf("added %d, listed %d; want none", n, len(got))
		}
	}},
	{"AScopeThatIsNoneIsRefused", func(f *fixture) {
		list := []campaign.Suppression{{Key: 1, Scope: campaign.ScopeAll}, {Key: 1, Scope: "everything"}}
		if n, err := f.l.Suppress(f.ctx, list); err == nil || n != 0 {
			f.Errorf("suppressed %d, %v; want an error", n, err)
		}
		if n, err := f.l.Unsuppress(f.ctx, list); err == nil || n != 0 {
			f.Errorf("lifted %d, %v; want an error", n, err)
		}
	}},
	{"AWishToResumeLiftsWhatIsNotNewer", func(f *fixture) {
		f.done(f.l.Apply(f.ctx, campaign.Events{
			Suppressions: []campaign.Suppression{{Key: 1, Scope: campaign.ScopeMarketing, At: at(10)},
				{Key: 2, Scope: campaign.ScopeMarketing, At: at(10).Add(instant)}}}))
		f.done(f.l.Apply(f.ctx, campaign.Events{Lifted: []campaign.Suppression{{Key: 1, At: at(10)}, {Key: 2, At: at(10)}}}))
		got, err := f.l.SuppressedKeys(f.ctx, []int64{1, 2}, true, nil, time.Now())
		f.ok(err)
		if d := cmp.Diff(map[int64]campaign.SkipReason{2: campaign.OptedOut}, got); d != "" {
			f.Errorf("suppressed (-want +got):\n%s", d)
		}
	}},
	{"AWishToResumeLiftsMarketingOnly", func(f *fixture) {
		_, err := f.l.Apply(f.ctx, campaign.Events{
			Suppressions: []campaign.Suppression{{Key: 1, Scope: campaign.ScopeMarketing, At: at(0)},
				{Key: 1, Scope: campaign.ScopeAll, At: at(0)}, {Key: 2, Scope: campaign.ScopeMarketing, At: at(20)}},
			Lifted: []campaign.Suppression{{Key: 1, Scope: campaign.ScopeAll, At: at(10)}, {Key: 2, At: at(10)}}})
		f.ok(err)
		got, err := f.l.SuppressedKeys(f.ctx, []int64{1, 2}, true, nil, time.Now())
		f.ok(err)
		if d := cmp.Diff(map[int64]campaign.SkipReason{1: campaign.Suppressed, 2: campaign.OptedOut}, got); d != "" {
			f.Errorf("a STOP that is newer than the wish to resume stays: %s", d)
		}
	}},
	{"ARepeatedStopIsNewerThanAnOldResume", func(f *fixture) {
		stop := func(s int) campaign.Events {
			return campaign.Events{Suppressions: []campaign.Suppression{{Key: 1, Scope: campaign.ScopeMarketing, At: at(s)}}}
		}
		for _, e := range []campaign.Events{stop(0), stop(30), {Lifted: []campaign.Suppression{{Key: 1, At: at(10)}}}} {
			f.done(f.l.Apply(f.ctx, e))
		}
		if got := f.suppressed(); len(got) != 1 {
			f.Errorf("got %+v; want length 1", got)
		}
	}},
}

// suppressTwice writes a suppression of one number and another of the same, and compares both the
// rule and the ledger with what is wanted.
func (f *fixture) suppressTwice(calls string, first, second, want campaign.Suppression) {
	f.Helper()
	if d := cmp.Diff(want, ledger.Repeated(first, second)); d != "" {
		f.Errorf("the rule for %+v, then %+v (-want +got):\n%s", first, second, d)
	}
	both := []campaign.Suppression{first, second}
	switch calls {
	case "one call":
		f.done(f.l.Suppress(f.ctx, both))
	case "two calls":
		for i := range both {
			f.done(f.l.Suppress(f.ctx, both[i:i+1]))
		}
	case "a webhook":
		f.done(f.l.Apply(f.ctx, campaign.Events{Suppressions: both}))
	}
	f.suppressedAs(want, "%+v, then %+v, in %s", first, second, calls)
}

// suppressedAs fails unless the number has exactly this one suppression.
func (f *fixture) suppressedAs(want campaign.Suppression, format string, about ...any) {
	f.Helper()
	var got []campaign.Suppression
	for _, s := range f.suppressed() {
		if s.Key == want.Key {
			got = append(got, s)
		}
	}
	if d := cmp.Diff([]campaign.Suppression{want}, got); d != "" {
		f.Errorf(format+" (-want +got):\n%s", append(about, d)...)
	}
}
