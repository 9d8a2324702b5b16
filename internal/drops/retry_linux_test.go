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
	"campaignd/campaign/file"
	"campaignd/campaign/reception"
	"campaignd/recipients"
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

// interrupted is a process whose first import of a list ends early; then it calls after.
func (w *world) interrupted(after func()) Options {
	o := w.watcher("a").o
	begun := false
	o.Launch = func(ctx context.Context, r Request) (run campaign.Run, err error) {
		w.mu.Lock()
		first := !begun
		begun = true
		w.mu.Unlock()
		if !first {
			return w.launch(ctx, r)
		}
		hash, _, unread := recipients.Hash(r.List)
		_, err = w.ledger.CreateRun(ctx, campaign.Run{Campaign: r.Campaign, ListHash: hash, ListName: r.List, Launch: r.Key,
			Header: []string{"phone"}, Wanted: campaign.WantRun})
		after()
		return run, errors.Join(unread, err, errors.New("the import was interrupted"))
	}
	return o
}

// The process has read the whole list, so the import needs neither the file nor its sidecar.
func TestAnInterruptedImportNeedsNoFile(t *testing.T) {
	for name, change := range map[string]func(*world){
		"removed":            func(w *world) { w.ok(os.Remove(w.path("list.csv"))) },
		"replaced":           func(w *world) { w.put("list.csv", list(2, 1)) },
		"a sidecar at fault": func(w *world) { w.write("list.csv.yaml", strings.Repeat("#", file.MaxSize+1)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				o := w.interrupted(func() { change(w) })
				w.put("list.csv", list(1, 1))
				stop := w.running(New(o))
				time.Sleep(5 * time.Minute)
				stop()
				run, err := w.ledger.Run(t.Context(), 1)
				w.ok(err)
				if run.State != campaign.Ready || w.launched[list(1, 1)] != "drop 1" {
					t.Errorf("got the run %s and launched %q, want the run ready", run.State, w.launched)
				}
				files, err := w.ledger.DroppedFiles(t.Context(), campaign.DropFilter{No: 1})
				w.ok(err)
				if got := w.text(files[0].Place); files[0].State != campaign.DropLaunched || got != list(1, 1) {
					t.Errorf("got %s and %q at %s, want the list of the run", files[0].State, got, files[0].Place)
				}
				if name == "replaced" && w.launched[list(2, 1)] != "drop 2" {
					t.Errorf("got launched %q, want the newer list, too", w.launched)
				}
			})
		})
	}
}

// Neither the bucket nor a process has the list any more. The run ends, and the same list is taken
// when it is dropped again.
func TestAnImportWhoseListIsLostEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		var o Options
		o = w.interrupted(func() { w.ok(errors.Join(os.Remove(w.path("list.csv")), os.RemoveAll(o.Spool))) })
		w.put("list.csv", list(1, 1))
		stop := w.running(New(o))
		defer stop()
		time.Sleep(awaitList - time.Minute)
		if f := w.dropped()["list.csv"]; f.State != campaign.DropClaimed || !strings.Contains(f.Detail, "unless the process that read the list") {
			t.Errorf("within the time: got %s, %s, want that it waits for the process", f.State, f.Detail)
		}
		time.Sleep(3 * time.Minute)
		run, err := w.ledger.Run(t.Context(), 1)
		w.ok(err)
		f := w.dropped()["list.csv"]
		if f.State != campaign.DropRejected || run.Wanted != campaign.WantCancel || run.State == campaign.Importing {
			t.Errorf("after it: got %s, %s and the run %s, %s, want the file rejected and the run cancelled", f.State, f.Detail,
				run.State, run.Wanted)
		}
		if got := w.text("rejected/list.csv" + reportJSON); !strings.Contains(got, `"error": "list_lost"`) {
			t.Errorf("got the report %s, want list_lost", got)
		}
		w.put("again.csv", list(1, 1))
		time.Sleep(time.Minute)
		if f := w.dropped()["again.csv"]; f.State != campaign.DropLaunched || f.Run == 1 {
			t.Errorf("dropped again: got %s, %s and the run %d, want another run", f.State, f.Detail, f.Run)
		}
	})
}

// lostTime is a ledger that was quarantined.
type lostTime struct {
	campaign.Ledger
	at time.Time
}

func (l lostTime) LostTimes(context.Context) ([]reception.LostTime, error) {
	return []reception.LostTime{{At: l.at}, {At: l.at.Add(-24 * time.Hour)}}, nil
}

// A list lies where it was because it could not be moved, and the ledger lost its run.
func TestAListOfTheLostTimeIsNotLaunchedAgain(t *testing.T) {
	written := time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		after time.Duration // of the quarantine, after the list was written
		want  campaign.DropState
	}{{time.Minute, campaign.DropRejected}, {0, campaign.DropRejected}, {-time.Millisecond, campaign.DropLaunched}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 1)
			o := w.watcher("a").o
			o.Ledger = lostTime{w.ledger, written.Add(tt.after)}
			w.write("list.csv", list(1, 1))
			w.ok(os.Chtimes(w.path("list.csv"), written, written))
			stop := w.running(New(o))
			time.Sleep(time.Minute)
			stop()
			f := w.dropped()["list.csv"]
			if f.State != tt.want || len(w.launched) > 0 != (tt.want == campaign.DropLaunched) {
				t.Errorf("quarantined %v after it was written: got %s, %s, and launched %q, want %s", tt.after, f.State, f.Detail, w.launched, tt.want)
			}
			if got := w.text("rejected/list.csv" + reportJSON); (tt.want == campaign.DropRejected) != strings.Contains(got, `"error": "lost_time"`) {
				t.Errorf("quarantined %v after it was written: got the report %q, want lost_time only if it is rejected", tt.after, got)
			}
		})
	}
}
