package drops

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// Two rules share a bucket, and a third one was removed while its file was open. Each of them finds
// what is due of the whole bucket.
func TestEachTryHasTheAgainOfItsOwnRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		tries := map[string][]bool{}
		o := w.watcher("a").o
		first := o.Rules[0]
		first.Prefix, first.Again = "spring/", true
		second := first
		second.Prefix, second.Again = "autumn/", false
		o.Rules = []Rule{first, second}
		o.Launch = func(ctx context.Context, r Request) (campaign.Run, error) {
			name := filepath.Base(r.List)
			w.mu.Lock()
			tries[name] = append(tries[name], r.Again)
			n := len(tries[name])
			w.mu.Unlock()
			if n < 3 {
				return campaign.Run{}, errors.New("the service is away")
			}
			return w.launch(ctx, r)
		}
		want := map[string]bool{"spring.csv": true, "autumn.csv": false, "winter.csv": false}
		for i, key := range []string{"spring/spring.csv", "autumn/autumn.csv", "winter/winter.csv"} {
			w.write(key, list(i, 1))
		}
		removed := w.stat("winter/winter.csv")
		_, _, err := w.ledger.ClaimFile(t.Context(), campaign.DroppedFile{Bucket: first.Name, Key: removed.Key, ETag: removed.ETag,
			Size: removed.Size, Campaign: first.Campaign, TakenAt: time.Now(), NextAt: time.Now()})
		w.ok(err)
		stop := w.running(New(o))
		time.Sleep(5 * time.Minute)
		stop()
		for name, again := range want {
			if !slices.Equal(tries[name], []bool{again, again, again}) {
				t.Errorf("%s was tried with again %v, want three tries with %v", name, tries[name], again)
			}
		}
	})
}
