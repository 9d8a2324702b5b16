package ledgertest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

var dropTime = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// dropped is a file of the campaign spring.
func dropped(key, etag string) campaign.DroppedFile {
	return campaign.DroppedFile{Bucket: "file:///inbox", Key: key, ETag: etag, Size: 12, Campaign: "spring",
		TakenAt: dropTime, NextAt: dropTime.Add(time.Minute)}
}

// take claims a file and says whether this call did.
func (f *fixture) take(file campaign.DroppedFile) (campaign.DroppedFile, bool) {
	f.Helper()
	got, claimed, err := f.l.ClaimFile(f.ctx, file)
	f.ok(err)
	return got, claimed
}

// droppedKeys reads the names of the files that the filter selects.
func (f *fixture) droppedKeys(filter campaign.DropFilter) (keys []string) {
	f.Helper()
	all, err := f.l.DroppedFiles(f.ctx, filter)
	f.ok(err)
	for _, file := range all {
		keys = append(keys, file.Key)
	}
	return keys
}

var dropPromises = []promise{
	{"AVersionOfAFileIsClaimedOnce", func(f *fixture) {
		const each = 8
		var claims atomic.Int64
		var wg sync.WaitGroup
		for range each {
			wg.Go(func() {
				if _, claimed, err := f.l.ClaimFile(f.ctx, dropped("a.csv", "1")); err != nil {
					f.Errorf("claim: %v; want no error", err)
				} else if claimed {
					claims.Add(1)
				}
			})
		}
		wg.Wait()
		if n := claims.Load(); n != 1 {
			f.Errorf("%d calls at once claimed the file %d times, want once", each, n)
		}
		again, claimed := f.take(dropped("a.csv", "1"))
		want := dropped("a.csv", "1")
		want.No, want.State = again.No, campaign.DropClaimed
		if diff := cmp.Diff(want, again); claimed || diff != "" {
			f.Errorf("claimed again: %v; want what is stored, -want +got:\n%s", claimed, diff)
		}
		for _, other := range []campaign.DroppedFile{dropped("a.csv", "2"), dropped("b.csv", "1"),
			{Bucket: "s3://inbox", Key: "a.csv", ETag: "1"}} {
			if got, claimed := f.take(other); !claimed || got.No == again.No {
				f.Errorf("%+v: claimed %v as number %d; want a claim of its own", other, claimed, got.No)
			}
		}
	}},
	{"AContentOfACampaignIsTakenOnce", func(f *fixture) {
		first, _ := f.take(dropped("a.csv", "1"))
		second, _ := f.take(dropped("b.csv", "1"))
		other := dropped("c.csv", "1")
		other.Campaign = "summer"
		other, _ = f.take(other)
		first.Hash, first.State, first.Run, first.Place, first.Sidecar = "aa", campaign.DropLaunched, 3, "done/a.csv", "tag 7"
		f.ok(f.l.UpdateFile(f.ctx, first))
		f.ok(f.l.UpdateFile(f.ctx, first))
		other.Hash = "aa"
		f.ok(f.l.UpdateFile(f.ctx, other))
		second.Hash = "aa"
		if err := f.l.UpdateFile(f.ctx, second); !errors.Is(err, campaign.ErrSameContent) {
			f.Errorf("the same content again: %v; want ErrSameContent", err)
		}
		second.State, second.Detail = campaign.DropRejected, "taken before"
		f.ok(f.l.UpdateFile(f.ctx, second))
		got, err := f.l.DroppedFiles(f.ctx, campaign.DropFilter{})
		f.ok(err)
		if diff := cmp.Diff([]campaign.DroppedFile{other, second, first}, got); diff != "" {
			f.Errorf("files -want +got:\n%s", diff)
		}
	}},
	{"AFileThatWasGoneIsClaimedAgain", func(f *fixture) {
		file, _ := f.take(dropped("a.csv", "1"))
		file.State, file.Hash, file.Detail, file.Sidecar = campaign.DropGone, "aa", "removed", campaign.NoSidecar
		f.ok(f.l.UpdateFile(f.ctx, file))
		again, claimed := f.take(dropped("a.csv", "1"))
		if !claimed || again.No != file.No || again.State != campaign.DropClaimed || again.Hash+again.Detail+again.Sidecar != "" {
			f.Errorf("claimed %v as %+v; want a new claim of number %d", claimed, again, file.No)
		}
	}},
	{"OpenFilesAreReadWhenTheyAreDue", func(f *fixture) {
		for i, state := range []campaign.DropState{campaign.DropClaimed, campaign.DropLaunched, campaign.DropSettled,
			campaign.DropRejected, campaign.DropGone, campaign.DropLaunched} {
			file := dropped(fmt.Sprint(i, ".csv"), "1")
			file.Bucket = []string{"file:///inbox", "s3://inbox"}[i/5]
			file, _ = f.take(file)
			file.State, file.Hash, file.NextAt = state, fmt.Sprint(i), dropTime.Add(-time.Duration(i)*time.Second)
			f.ok(f.l.UpdateFile(f.ctx, file))
		}
		for _, tt := range []struct {
			filter campaign.DropFilter
			want   []string
		}{
			{campaign.DropFilter{}, []string{"5.csv", "4.csv", "3.csv", "2.csv", "1.csv", "0.csv"}},
			{campaign.DropFilter{No: 999}, nil},
			{campaign.DropFilter{Campaign: "spring", Hash: "4"}, []string{"4.csv"}},
			{campaign.DropFilter{Campaign: "summer"}, nil},
			{campaign.DropFilter{Limit: 2}, []string{"5.csv", "4.csv"}},
			{campaign.DropFilter{Bucket: "s3://inbox"}, []string{"5.csv"}},
			{campaign.DropFilter{Due: dropTime}, []string{"5.csv", "1.csv", "0.csv"}},
			{campaign.DropFilter{Bucket: "file:///inbox", Due: dropTime}, []string{"1.csv", "0.csv"}},
			{campaign.DropFilter{Bucket: "file:///inbox", Due: dropTime.Add(-time.Second), Limit: 5}, []string{"1.csv"}},
		} {
			if diff := cmp.Diff(tt.want, f.droppedKeys(tt.filter)); diff != "" {
				f.Errorf("%+v: files -want +got:\n%s", tt.filter, diff)
			}
		}
	}},
	{"WhatWaitsAtAPlaceIsReplaced", func(f *fixture) {
		wait := func(prefix, key, reason string) campaign.DropWait {
			return campaign.DropWait{Bucket: "file:///inbox", Prefix: prefix, Key: key, Reason: reason, Since: dropTime}
		}
		a, b, c := wait("a/", "a/1.csv", "it is being written"), wait("a/", "", "no access"), wait("b/", "b/1.csv", "not a file")
		f.ok(f.l.NoteWaits(f.ctx, "file:///inbox", "a/", []campaign.DropWait{a, wait("a/", "a/0.csv", "x")}))
		f.ok(f.l.NoteWaits(f.ctx, "file:///inbox", "b/", []campaign.DropWait{c}))
		f.ok(f.l.NoteWaits(f.ctx, "file:///inbox", "a/", []campaign.DropWait{a, b}))
		f.ok(f.l.NoteWaits(f.ctx, "s3://inbox", "a/", nil))
		got, err := f.l.DropWaits(f.ctx)
		f.ok(err)
		if diff := cmp.Diff([]campaign.DropWait{b, a, c}, got); diff != "" {
			f.Errorf("waits -want +got:\n%s", diff)
		}
	}},
}
