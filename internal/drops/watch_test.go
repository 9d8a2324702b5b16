package drops

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// slow is an empty bucket whose listing takes some time.
type slow struct {
	Bucket
	takes  time.Duration
	listed int
}

func (b *slow) Every() time.Duration { return time.Second }

func (b *slow) List(context.Context, string) iter.Seq2[Object, error] {
	time.Sleep(b.takes)
	b.listed++
	return func(func(Object, error) bool) {}
}

// noFiles is a ledger without dropped files.
type noFiles struct{ Ledger }

func (noFiles) NoteWaits(context.Context, string, string, []campaign.DropWait) error { return nil }

func (noFiles) DroppedFiles(context.Context, campaign.DropFilter) ([]campaign.DroppedFile, error) {
	return nil, nil
}

func TestASlowPlaceIsListedRarelyTheOthersOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far, near := &slow{takes: 5 * time.Second}, &slow{}
		w := New(Options{Ledger: noFiles{}, Rules: []Rule{{Name: "far", Bucket: far}, {Name: "near", Bucket: near}}})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		w.Run(ctx)
		if far.listed > 6 || near.listed < 500 {
			t.Errorf("in 10 minutes: got %d and %d listings, want 6 that take 5 s each, and 500 or more of the other", far.listed, near.listed)
		}
	})
}
