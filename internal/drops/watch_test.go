package drops

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"strings"
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

// endless lists files that never end, or hangs until its context ends.
type endless struct {
	Bucket
	hangs  bool
	listed int
}

func (b *endless) Every() time.Duration { return time.Second }

func (b *endless) Quiet(Object) (time.Duration, bool) { return time.Hour, false }

func (b *endless) List(ctx context.Context, _ string) iter.Seq2[Object, error] {
	b.listed++
	return func(yield func(Object, error) bool) {
		for ctx.Err() == nil {
			if b.hangs {
				<-ctx.Done()
			}
			if !yield(Object{Key: "more.csv", ETag: "a"}, ctx.Err()) {
				return
			}
		}
	}
}

// A listing without an end, or one that hangs, is a fault of its folder, which is named, and delays
// no other folder.
func TestAListingWithoutAnEndDelaysNoOtherFolder(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			far, near := &endless{hangs: hangs}, &slow{}
			w := New(Options{Ledger: noFiles{}, Rules: []Rule{{Name: "far", Bucket: far, Campaign: "c"}, {Name: "near", Bucket: near}},
				Missing: func(string) error { return nil }, Log: slog.New(slog.NewTextHandler(&log, nil))})
			w.most = 50
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w.Run(ctx)
			want := "does not end"
			if hangs {
				want = "did not end within 1m0s"
			}
			if near.listed < 250 || far.listed < 2 {
				t.Errorf("in 5 minutes, hangs %t: got %d listings of the other folder and %d of this, want 250 or more, and several",
					hangs, near.listed, far.listed)
			}
			if got := strings.Count(log.String(), "\n"); got != 1 || !strings.Contains(log.String(), "bucket=far") ||
				!strings.Contains(log.String(), want) {
				t.Errorf("hangs %t: got %d lines, want one that names far and says %q:\n%s", hangs, got, want, log.String())
			}
		})
	}
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
