package drops

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// running runs a watcher until the returned function is called.
func (w *world) running(watch *Watcher) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	var work sync.WaitGroup
	work.Go(func() { watch.Run(ctx) })
	return func() {
		cancel()
		work.Wait()
	}
}

// dropped reads the files that were taken, by name.
func (w *world) dropped() map[string]campaign.DroppedFile {
	w.Helper()
	files, err := w.ledger.DroppedFiles(w.Context(), campaign.DropFilter{})
	w.ok(err)
	by := map[string]campaign.DroppedFile{}
	for _, f := range files {
		by[f.Key] = f
	}
	return by
}

// waiting reads why files wait, by name.
func (w *world) waiting() map[string]string {
	w.Helper()
	waits, err := w.ledger.DropWaits(w.Context())
	w.ok(err)
	by := map[string]string{}
	for _, wait := range waits {
		by[wait.Key] = wait.Reason
	}
	return by
}

func TestAFileThatIsWrittenWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		stop := w.running(w.watcher("a"))
		defer stop()
		var copying sync.WaitGroup
		copying.Go(func() { w.copy("list.csv", list(1, 20)) })
		time.Sleep(5 * time.Second)
		if got := w.waiting()["list.csv"]; !strings.HasPrefix(got, "a process is writing it") && !strings.HasPrefix(got, "it is taken when") {
			t.Errorf("a copy under way: got %q, want that a process is writing it", got)
		}
		copying.Wait()
		time.Sleep(time.Minute)
		if len(w.launched) != 1 || w.launched[list(1, 20)] == "" {
			t.Errorf("launched %q, want the whole list", w.launched)
		}
		// An editor saves twice, half a second apart, each time over the same file.
		w.write("edited.csv", list(2, 1))
		time.Sleep(500 * time.Millisecond)
		w.write("edited.csv", list(2, 2))
		time.Sleep(time.Minute)
		if len(w.launched) != 2 || w.launched[list(2, 2)] == "" {
			t.Errorf("launched %q, want the second content alone", w.launched)
		}
		for _, name := range []string{".list9.csv.XyZ123", "list9.csv~", ".list9.csv.swp"} {
			w.write(name, list(9, 1))
		}
		w.write("empty.csv", "")
		w.write(strings.Repeat("x", 220)+".csv", list(9, 1))
		time.Sleep(time.Minute)
		if len(w.launched) != 2 || w.waiting()["empty.csv"] != "it is empty" || len(w.waiting()) != 2 {
			t.Errorf("launched %d and waiting %v, want 2, and that the empty file and the long name wait", len(w.launched), w.waiting())
		}
	})
}

// Everything in a watched folder is taken, or listed with the reason.
func TestNothingInAWatchedFolderIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		o := w.watcher("a").o
		o.Rules = append(o.Rules, Rule{Name: o.Rules[0].Name, Bucket: o.Rules[0].Bucket, Prefix: "autumn/sale/", Campaign: "spring"},
			Rule{Name: o.Rules[0].Name, Bucket: o.Rules[0].Bucket, Prefix: "winter/", Patterns: []string{"Kunden*.txt"}, Campaign: "spring"})
		stop := w.running(New(o))
		defer stop()
		for _, name := range []string{"LIST.CSV", "autumn/sale/Kunden.Csv", "winter/KUNDEN 1.TXT"} {
			w.write(name, list(len(name), 1))
		}
		w.write("LIST.CSV.yaml", "limits: {rate: 1}\n")
		for _, name := range []string{"Kunden.xlsx", "lists.ZIP", "readme.txt", "june/list.csv", "autumn/list.xls", ".sync/x.csv", "list.csv~"} {
			w.write(name, "x")
		}
		time.Sleep(time.Minute)
		if all := w.dropped(); len(w.launched) != 3 || all["LIST.CSV"].Place != "done/LIST.CSV" || w.text("done/LIST.CSV.yaml") == "" {
			t.Errorf("launched %d and %v, want the list in upper case with its sidecar, and those of the other two rules", len(w.launched), all)
		}
		want := map[string]string{
			"Kunden.xlsx": "it is a spreadsheet; save it as CSV", "lists.ZIP": "it is an archive", "june/": "add a rule of drops with prefix: june/",
			"readme.txt": "its name is not one that the rule takes (*.csv, ",
		}
		got := w.waiting()
		for name, reason := range want {
			if !strings.Contains(got[name], reason) {
				t.Errorf("%s: got %q, want %q in it", name, got[name], reason)
			}
		}
		if len(got) != len(want) {
			t.Errorf("got %v, want only these %d", got, len(want))
		}
	})
}

func TestAPlaceWithoutRightsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		stop := w.running(w.watcher("a"))
		defer stop()
		set := func(denied bool) {
			w.mu.Lock()
			w.denied = denied
			w.mu.Unlock()
		}
		w.least = 2 * time.Second
		w.put("list.csv", list(1, 1))
		for w.dropped()["list.csv"].State == "" { // it is being launched
			time.Sleep(100 * time.Millisecond)
		}
		set(true)
		w.put("later.csv", list(2, 1))
		time.Sleep(time.Minute)
		f := w.dropped()["list.csv"]
		if !strings.Contains(w.waiting()[""], errFault.Error()) || f.State != campaign.DropClaimed ||
			!strings.Contains(f.Detail, errFault.Error()) {
			t.Errorf("without rights: got the folder %q and the file %+v, want %v at both", w.waiting()[""], f, errFault)
		}
		set(false)
		time.Sleep(time.Minute)
		all := w.dropped()
		if len(w.waiting()) != 0 || len(all) != 2 || all["list.csv"].Place != "done/list.csv" || all["later.csv"].Place != "done/later.csv" ||
			len(w.launched) != 2 {
			t.Errorf("with them again: got %v waiting and %v, want both files in done/, each launched once", w.waiting(), all)
		}
	})
}

// A list that went back into the folder keeps its inode and times, so it is the version that was
// taken.
func TestAFileThatLiesThereAgainWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.put("list.csv", list(1, 1))
		stop := w.running(w.watcher("a"))
		defer stop()
		time.Sleep(10 * time.Second)
		w.ok(w.Move(t.Context(), w.stat("done/list.csv"), "list.csv"))
		time.Sleep(10 * time.Second)
		if got := w.waiting()["list.csv"]; !strings.Contains(got, "launched as spring-1") || len(w.launched) != 1 {
			t.Errorf("got %q and %d runs, want that it was launched as spring-1, and one run", got, len(w.launched))
		}
	})
}

// Somebody moves a rejected list back to have it taken again.
func TestARejectedListThatIsMovedBackHasARemedy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.put("list.csv", "bad")
		stop := w.running(w.watcher("a"))
		defer stop()
		time.Sleep(10 * time.Second)
		w.ok(w.Move(t.Context(), w.stat("rejected/list.csv"), "list.csv"))
		time.Sleep(10 * time.Second)
		const want = "; `touch` it to have it taken again. The reason: it is bad"
		if got := w.waiting()["list.csv"]; !strings.HasSuffix(got, want) {
			t.Errorf("moved back: got %q, want it to end with %q", got, want)
		}
		w.ok(os.Chtimes(w.path("list.csv"), time.Time{}, time.Now()))
		time.Sleep(10 * time.Second)
		if f := w.dropped()["list.csv"]; len(w.waiting()) != 0 || f.State != campaign.DropRejected || w.text("rejected/list-2.csv") != "bad" {
			t.Errorf("after touch: got waiting %v and %s at %s, want it rejected again, as list-2.csv", w.waiting(), f.State, f.Place)
		}
	})
}

// deaf is a ledger that cannot read runs for a time.
type deaf struct {
	campaign.Ledger
	until time.Time
}

func (l deaf) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	if time.Now().Before(l.until) {
		return campaign.Run{}, campaign.ErrUnwritable
	}
	return l.Ledger.Run(ctx, no)
}

// A list of the same content is rejected for the run that the other one has, and for no other
// reason.
func TestADuplicateIsJudgedByTheOtherRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.least = 20 * time.Second
		o := w.watcher("a").o
		o.Ledger = deaf{w.ledger, time.Now().Add(2 * time.Minute)}
		stop := w.running(New(o))
		defer stop()
		w.put("bad.csv", "bad")
		w.put("list.csv", list(1, 1))
		time.Sleep(5 * time.Second) // the first one is being launched
		w.put("worse.csv", "bad")
		w.put("other.csv", list(1, 1))
		time.Sleep(10 * time.Second)
		const waits = "list.csv has the same content and is not launched yet"
		if f := w.dropped()["other.csv"]; f.State != campaign.DropClaimed || !strings.Contains(f.Detail, waits) {
			t.Errorf("while the other one is launched: got %s, %s, want that it waits", f.State, f.Detail)
		}
		time.Sleep(time.Minute)
		if f := w.dropped()["other.csv"]; f.State != campaign.DropClaimed || !strings.Contains(f.Detail, campaign.ErrUnwritable.Error()) {
			t.Errorf("while the ledger cannot be read: got %s, %s, want that it waits", f.State, f.Detail)
		}
		time.Sleep(2 * time.Minute)
		all := w.dropped()
		if f := all["other.csv"]; f.State != campaign.DropRejected || !strings.Contains(f.Detail, "the list of spring-1") {
			t.Errorf("got %s, %s, want it rejected for the run spring-1", f.State, f.Detail)
		}
		if f := all["worse.csv"]; f.State != campaign.DropRejected || f.Detail != "it is bad" {
			t.Errorf("beside one that was rejected: got %s, %s, want it rejected for its own fault", f.State, f.Detail)
		}
	})
}

var many = flag.Int("files", 150, "number of files of TestManyFilesAtOnce")

func TestManyFilesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	for i := range *many {
		w.put(fmt.Sprintf("list%d.csv", i), list(i, 1))
	}
	began := time.Now()
	stop := w.running(w.watcher("a"))
	defer stop()
	for done := 0; done < *many; {
		time.Sleep(200 * time.Millisecond)
		if time.Since(began) > 4*time.Minute+time.Duration(*many)*100*time.Millisecond {
			t.Fatalf("%d of %d files are done after %v, want all", done, *many, time.Since(began))
		}
		done = 0
		for _, f := range w.dropped() {
			if f.State == campaign.DropLaunched {
				done++
			}
		}
		if n := len(w.waiting()); n > mostWaits+1 {
			t.Fatalf("the ledger keeps %d waiting files, want at most %d", n, mostWaits)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d files in %v; heap %d MiB", *many, time.Since(began).Round(time.Millisecond), m.HeapSys>>20)
	if len(w.launched) != *many {
		t.Errorf("%d lists are launched, want %d", len(w.launched), *many)
	}
}

// A bucket of a server that loses the rights, with two processes.
func TestABucketIsWatched(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	w := newWorld(t, 1)
	s.write("in/list.csv.yaml", "limits: {rate: 1}\n")
	s.write("in/list.csv", list(1, 2))
	s.denied.Store(true)
	for _, name := range []string{"a", "b"} {
		o := w.watcher(name).o
		o.Rules = []Rule{{Name: "s3://lists", Bucket: s, Prefix: "in/", Campaign: "spring"}}
		defer w.running(New(o))()
	}
	eventually(t, "the folder is told to be without rights", func() bool { return strings.Contains(w.waiting()[""], "Access Denied") })
	s.denied.Store(false)
	eventually(t, "the list is launched", func() bool { return s.text("in/done/list.csv.report.json") != "" })
	s.write("in/again.csv", list(1, 2))
	eventually(t, "the same list is rejected", func() bool { return w.dropped()["in/again.csv"].State == campaign.DropRejected })
	if got := s.keys("in/"); len(got) != 0 || len(w.launched) != 1 {
		t.Errorf("got the objects %v and %d runs, want none left, and one run", got, len(w.launched))
	}
	if s.text("in/done/list.csv") != list(1, 2) || s.text("in/done/list.csv.yaml") == "" ||
		!strings.Contains(s.text("in/rejected/again.csv.report.json"), `"duplicate"`) {
		t.Errorf("got %v and %v, want the list with its sidecar, and a duplicate", s.keys("in/done/"), s.keys("in/rejected/"))
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(4 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got nothing within 4 minutes, want that %s", what)
		}
	}
}
