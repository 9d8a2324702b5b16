package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

var draftPromises = []promise{
	{"ADraftIsReadAsItWasStored", func(f *fixture) {
		one := campaign.Draft{ID: "aa", Owner: "ann", Campaign: "spring", Source: []byte("name: spring\n\x00"), CreatedAt: at(0)}
		two := campaign.Draft{ID: "bb", Owner: "ann", Campaign: "autumn", Source: []byte("name: autumn"), ListName: "l.csv", List: "x",
			Run: "autumn-1", CreatedAt: at(1)}
		for _, d := range []campaign.Draft{one, two, {ID: "cc", Owner: "bob", Source: []byte{}, CreatedAt: at(2)}} {
			f.ok(f.l.AddDraft(f.ctx, d, time.Time{}, 100))
		}
		all, err := f.l.Drafts(f.ctx, "ann")
		f.ok(err)
		if diff := cmp.Diff([]campaign.Draft{two, one}, all); diff != "" {
			f.Errorf("drafts -want +got:\n%s", diff)
		}
		if _, err := f.l.Draft(f.ctx, "dd"); !errors.Is(err, campaign.ErrNoDraft) {
			f.Errorf("a draft that is not there: got %v, want ErrNoDraft", err)
		}
	}},
	{"ADraftIsChanged", func(f *fixture) {
		want := campaign.Draft{ID: "aa", Owner: "ann", Campaign: "spring", Source: []byte("a"), CreatedAt: at(0)}
		f.ok(f.l.AddDraft(f.ctx, want, time.Time{}, 100))
		want.Source, want.ListName, want.List, want.Run = []byte("b"), "l.csv", "x", "spring-1"
		f.ok(f.l.ChangeDraft(f.ctx, want))
		got, err := f.l.Draft(f.ctx, "aa")
		f.ok(err)
		if diff := cmp.Diff(want, got); diff != "" {
			f.Errorf("the draft -want +got:\n%s", diff)
		}
		if err := f.l.ChangeDraft(f.ctx, campaign.Draft{ID: "none", Source: []byte{}}); !errors.Is(err, campaign.ErrNoDraft) {
			f.Errorf("a draft that is not there: got %v, want ErrNoDraft", err)
		}
	}},
	{"ADraftKeepsItsRun", func(f *fixture) {
		d := campaign.Draft{ID: "aa", Owner: "ann", Source: []byte("a"), Run: "spring-1", CreatedAt: at(0)}
		f.ok(f.l.AddDraft(f.ctx, d, time.Time{}, 100))
		for _, run := range []string{"", "spring-2"} { // a page that read the draft before it was launched
			d.Run = run
			f.ok(f.l.ChangeDraft(f.ctx, d))
			if got, err := f.l.Draft(f.ctx, "aa"); err != nil || got.Run != "spring-1" {
				f.Errorf("changed with the run %q: got %q (%v), want spring-1", run, got.Run, err)
			}
		}
	}},
	{"ARunIsStoredWithItsDraft", func(f *fixture) {
		one, other := f.draft(), f.draft()
		first := f.create(func(r *campaign.Run) { r.Draft = one.ID })
		again := first
		again.Draft = other.ID
		if _, err := f.l.CreateRun(f.ctx, again); !errors.Is(err, campaign.ErrRunExists) {
			f.Errorf("the same list again: got %v, want ErrRunExists", err)
		}
		f.create(func(r *campaign.Run) { r.Draft = one.ID })
		for _, d := range []campaign.Draft{one, other} {
			got, err := f.l.Draft(f.ctx, d.ID)
			want := map[string]string{one.ID: first.ID()}[d.ID]
			if f.ok(err); got.Run != want {
				f.Errorf("draft %s: got the run %q, want %q", d.ID, got.Run, want)
			}
		}
	}},
	{"ANewDraftRemovesOldOnes", func(f *fixture) {
		for i, owner := range []string{"bob", "ann", "ann", "ann", "bob"} {
			d := campaign.Draft{ID: fmt.Sprint("draft ", i), Owner: owner, Source: []byte{}, CreatedAt: at(i)}
			f.ok(f.l.AddDraft(f.ctx, d, at(i-4), 2))
		}
		if all, err := f.l.Drafts(f.ctx, "ann"); err != nil || len(all) != 2 || all[1].ID != "draft 2" {
			f.Errorf("got %+v (%v), want the newest two", all, err)
		}
		if all, err := f.l.Drafts(f.ctx, "bob"); err != nil || len(all) != 2 {
			f.Errorf("of another owner: got %+v (%v), want both", all, err)
		}
		f.ok(f.l.AddDraft(f.ctx, campaign.Draft{ID: "late", Owner: "cid", Source: []byte{}, CreatedAt: at(9)}, at(4), 2))
		if all, err := f.l.Drafts(f.ctx, "bob"); err != nil || len(all) != 1 || all[0].ID != "draft 4" {
			f.Errorf("after their end: got %+v (%v), want the one that began later", all, err)
		}
	}},
}

// draft stores a draft and returns it.
func (f *fixture) draft() campaign.Draft {
	f.Helper()
	f.ids++
	d := campaign.Draft{ID: fmt.Sprint("draft ", f.ids), Owner: "ann", Source: []byte{}, CreatedAt: at(0)}
	f.ok(f.l.AddDraft(f.ctx, d, time.Time{}, 100))
	return d
}

var draftFaults = []faultyMethod{
	{"AddDraft", func(f *fixture, _ Faults) func(context.Context) error {
		f.ids++
		d := campaign.Draft{ID: fmt.Sprint("draft ", f.ids), Owner: "ann", Source: []byte{}, CreatedAt: at(0)}
		return func(ctx context.Context) error { return f.l.AddDraft(ctx, d, time.Time{}, 100) }
	}},
	{"Draft", func(f *fixture, _ Faults) func(context.Context) error {
		d := f.draft()
		return func(ctx context.Context) error { _, err := f.l.Draft(ctx, d.ID); return err }
	}},
	{"Drafts", func(f *fixture, _ Faults) func(context.Context) error {
		f.draft()
		return func(ctx context.Context) error { _, err := f.l.Drafts(ctx, "ann"); return err }
	}},
	{"ChangeDraft", func(f *fixture, _ Faults) func(context.Context) error {
		d := f.draft()
		return func(ctx context.Context) error { return f.l.ChangeDraft(ctx, d) }
	}},
}
