package drops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// A process fails to launch a list. Its ledger is replaced by another one, whose first file is a
// list of the same size.
func TestASpoolIsNotTakenForAnotherList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		o := w.watcher("a").o
		failing := o
		failing.Launch = func(_ context.Context, r Request) (campaign.Run, error) {
			return campaign.Run{}, errors.Join(errors.New("the service is away"), os.WriteFile(r.Rejects, []byte("theirs"), 0o600))
		}
		w.put("list.csv", list(1, 3))
		stop := w.running(New(failing))
		time.Sleep(10 * time.Second)
		stop()
		if f := w.dropped()["list.csv"]; f.No != 1 || f.Hash == "" {
			t.Fatalf("got %+v, want the first file, which was read", f)
		}

		w.ledger = newLedger(t)
		o.Ledger = w.ledger
		w.put("list.csv", list(2, 3))
		stop = w.running(New(o))
		time.Sleep(time.Minute)
		stop()
		if f := w.dropped()["list.csv"]; f.No != 1 || f.State != campaign.DropLaunched || w.launched[list(2, 3)] == "" || len(w.launched) != 1 {
			t.Errorf("got the file %+v and launched %q, want the first file, and the second list alone", f, w.launched)
		}
		if got := w.text("done/list.csv" + rejectedName); strings.Contains(got, "theirs") {
			t.Errorf("got the rejected rows %q, want none of the other list", got)
		}
		if left, err := os.ReadDir(o.Spool); err != nil || len(left) != 0 {
			t.Errorf("got %v and %v in the spool, want nothing left", left, err)
		}
	})
}
