package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

var accessPromises = []promise{
	{"AKeyIsReadAsItWasStored", func(f *fixture) {
		at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		one := campaign.OperatorKey{ID: "1a", Name: "Lagos desk", Hash: "abc", Scope: campaign.KeyOperate, Company: "co_1", CreatedAt: at}
		two := campaign.OperatorKey{ID: "2b", Name: "ci", Hash: "def", Scope: campaign.KeyRead, CreatedAt: at.Add(time.Second)}
		again := one
		again.Hash, again.Scope = "other", campaign.KeyAdmin
		for _, k := range []campaign.OperatorKey{one, two, again} {
			f.ok(f.l.AddKey(f.ctx, k))
		}
		all, err := f.l.Keys(f.ctx)
		f.ok(err)
		if diff := cmp.Diff([]campaign.OperatorKey{two, one}, all); diff != "" {
			f.Errorf("keys -want +got:\n%s", diff)
		}
		got, err := f.l.Key(f.ctx, "1a")
		f.ok(err)
		if diff := cmp.Diff(one, got); diff != "" {
			f.Errorf("key -want +got:\n%s", diff)
		}
		if _, err := f.l.Key(f.ctx, "3c"); !errors.Is(err, campaign.ErrNoKey) {
			f.Errorf("a key that is not there: got %v, want ErrNoKey", err)
		}
	}},
	{"ARevokedKeyStaysRevoked", func(f *fixture) {
		at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		f.ok(f.l.AddKey(f.ctx, campaign.OperatorKey{ID: "1a", Hash: "abc", Scope: campaign.KeyRead, CreatedAt: at}))
		for i := range 2 {
			k, err := f.l.RevokeKey(f.ctx, "1a", at.Add(time.Duration(i+1)*time.Hour))
			f.ok(err)
			if want := at.Add(time.Hour); !k.RevokedAt.Equal(want) {
				f.Errorf("revoked at %v, want the first time %v", k.RevokedAt, want)
			}
		}
		_, err := f.l.RevokeKey(f.ctx, "2b", at)
		if want := campaign.ErrNoKey.Error() + `: "2b"`; !errors.Is(err, campaign.ErrNoKey) || err.Error() != want {
			f.Errorf("a key that is not there: got %v, want ErrNoKey as %s", err, want)
		}
	}},
	{"ActionsAreReadNewestFirstByPages", func(f *fixture) {
		at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
		var want []campaign.Action
		for i := range 7 { // two at each instant
			a := campaign.Action{ID: fmt.Sprint("a", i), At: at.Add(time.Duration(i/2) * time.Second), By: "key 1a, ci", What: "pause",
				On: "spring-1", Detail: "ok"}
			f.ok(f.l.NoteAction(f.ctx, a))
			f.ok(f.l.NoteAction(f.ctx, campaign.Action{ID: a.ID, At: at.Add(time.Hour), By: "another", What: "resume", On: "spring-9",
				Detail: "ok; done"}))
			a.Detail = "ok; done" // the result, and nothing else
			want = append([]campaign.Action{a}, want...)
		}
		var got []campaign.Action
		filter := campaign.ActionFilter{Limit: 3}
		for {
			page, err := f.l.Actions(f.ctx, filter)
			f.ok(err)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			filter.Before, filter.BeforeID = page[len(page)-1].At, page[len(page)-1].ID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			f.Errorf("actions -want +got:\n%s", diff)
		}
		other := campaign.Action{ID: "b", At: at, By: "key 1a, ci", What: "resume", On: "spring-2"}
		f.ok(f.l.NoteAction(f.ctx, other))
		for _, filter := range []campaign.ActionFilter{{On: "spring-2"}, {On: "spring-2", Before: at.Add(time.Hour), Limit: 3}} {
			if got, err := f.l.Actions(f.ctx, filter); err != nil || !cmp.Equal(got, []campaign.Action{other}) {
				f.Errorf("actions of %+v: %+v, %v; want the one on spring-2", filter, got, err)
			}
		}
	}},
}

var accessFaults = []faultyMethod{
	{"AddKey", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		k := campaign.OperatorKey{ID: fmt.Sprint("key ", f.ids), Scope: campaign.KeyRead, CreatedAt: at(0)}
		return func(ctx context.Context) error { return f.l.AddKey(ctx, k) }
	}},
	{"Key", func(f *fixture, _ Faults) func(context.Context) error {
		id := f.operatorKey()
		return func(ctx context.Context) error { _, err := f.l.Key(ctx, id); return err }
	}},
	{"Keys", func(f *fixture, _ Faults) func(context.Context) error {
		f.operatorKey()
		return func(ctx context.Context) error { _, err := f.l.Keys(ctx); return err }
	}},
	{"RevokeKey", func(f *fixture, _ Faults) func(context.Context) error {
		id := f.operatorKey()
		return func(ctx context.Context) error { _, err := f.l.RevokeKey(ctx, id, at(1)); return err }
	}},
	{"NoteAction", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		a := campaign.Action{ID: fmt.Sprint("action ", f.ids), At: at(0), What: "pause"}
		return func(ctx context.Context) error { return f.l.NoteAction(ctx, a) }
	}},
	{"Actions", func(f *fixture, _ Faults) func(context.Context) error {
		f.ok(f.l.NoteAction(f.ctx, campaign.Action{ID: "one", At: at(0), What: "pause"}))
		return func(ctx context.Context) error {
			_, err := f.l.Actions(ctx, campaign.ActionFilter{Limit: 1})
			return err
		}
	}},
}

// operatorKey stores a key and returns its id.
func (f *fixture) operatorKey() string {
	f.Helper()
	f.ids++
	id := fmt.Sprint("key ", f.ids)
	f.ok(f.l.AddKey(f.ctx, campaign.OperatorKey{ID: id, Scope: campaign.KeyRead, CreatedAt: at(0)}))
	return id
}
