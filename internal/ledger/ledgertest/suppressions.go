package ledgertest

import (
	"fmt"
	"time"

	"campaignd/campaign"

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
			f.Errorf("added %d, then %d", n, m)
		}
		if got := f.suppressed(); len(got) != 2 {
			f.Errorf("%+v", got)
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
			f.Fatalf("added %d, listed %d", n, len(got))
		}
		for i, s := range got {
			if s.Key != int64(i+1) {
				f.Fatalf("number %d is %d", i, s.Key)
			}
		}
	}},
	{"SuppressedKeysSaysWhy", func(f *fixture) {
		_, err := f.l.Suppress(f.ctx, []campaign.Suppression{
			{Key: 1, Scope: campaign.ScopeMarketing}, {Key: 2, Scope: campaign.ScopeAll}, {Key: 2, Scope: campaign.ScopeMarketing},
			{Key: 3, Scope: campaign.ScopeUnreachable, Until: at(10)}, {Key: 4, Scope: campaign.ScopeUnreachable, Until: at(5)}})
		f.ok(err)
		var ks []int64
		for k := range int64(1000) {
			ks = append(ks, k)
		}
		got, err := f.l.SuppressedKeys(f.ctx, ks, true, at(7))
		f.ok(err)
		if d := cmp.Diff(map[int64]campaign.SkipReason{1: campaign.OptedOut, 2: campaign.Suppressed, 3: campaign.Unreachable}, got); d != "" {
			f.Error(d)
		}
		got, err = f.l.SuppressedKeys(f.ctx, ks, false, at(7))
		f.ok(err)
		if d := cmp.Diff(map[int64]campaign.SkipReason{2: campaign.Suppressed, 3: campaign.Unreachable}, got); d != "" {
			f.Error(d)
		}
	}},
	{"UnreachableIsProlonged", func(f *fixture) {
		_, err := f.l.Suppress(f.ctx, []campaign.Suppression{{Key: 3, Scope: campaign.ScopeUnreachable, Until: at(10)}})
		f.ok(err)
		_, err = f.l.Suppress(f.ctx, []campaign.Suppression{{Key: 3, Scope: campaign.ScopeUnreachable, Until: at(20)}, {Key: 3, Scope: campaign.ScopeUnreachable, Until: at(15)}})
		f.ok(err)
		if got := f.suppressed(); len(got) != 1 || !got[0].Until.Equal(at(20)) {
			f.Errorf("%+v", got)
		}
	}},
	{"AWishToResumeLiftsMarketingOnly", func(f *fixture) {
		_, err := f.l.Apply(f.ctx, campaign.Events{
			Suppressions: []campaign.Suppression{{Key: 1, Scope: campaign.ScopeMarketing, At: at(0)}, {Key: 1, Scope: campaign.ScopeAll, At: at(0)}, {Key: 2, Scope: campaign.ScopeMarketing, At: at(20)}},
			Lifted:       []campaign.Suppression{{Key: 1, Scope: campaign.ScopeAll, At: at(10)}, {Key: 2, At: at(10)}}})
		f.ok(err)
		got, err := f.l.SuppressedKeys(f.ctx, []int64{1, 2}, true, time.Now())
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
			_, err := f.l.Apply(f.ctx, e)
			f.ok(err)
		}
		if got := f.suppressed(); len(got) != 1 {
			f.Errorf("%+v", got)
		}
	}},
}
