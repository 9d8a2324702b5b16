package wirelog

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"campaignd/campaign"
)

const boot = "5d2f1c0a-9a41-4d8e-b0c2-6f3e7a90c114"

// open opens the log of an owner in dir.
func open(t *testing.T, dir, owner string) *Log {
	t.Helper()
	l, err := Open(Options{Dir: dir, Name: "x.db", Ledger: "ledger-1", Owner: owner, Boot: boot})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// note writes attempt n of a delivery.
func note(t *testing.T, l *Log, seq int64, n int) int {
	t.Helper()
	no, err := l.Note(campaign.Post{Run: 7, Seq: seq, Attempt: n}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return no
}

// files are the logs in dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "x.db.wire-*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// posts are what the dead owners of l had posted.
func posts(l *Log) (all []campaign.Post) {
	for _, d := range l.Dead() {
		all = append(all, d.Posts...)
	}
	return all
}

func TestTheNextOwnerReadsWhatWasPosted(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "a")
	note(t, l, 5, 1)
	no := note(t, l, 6, 2)
	l.Recorded(no)
	note(t, l, 1<<40, 3) // takes the entry of 6
	l.Close()

	l = open(t, dir, "b")
	want := []campaign.WireLog{{Owner: "a", Posts: []campaign.Post{{Run: 7, Seq: 5, Attempt: 1}, {Run: 7, Seq: 1 << 40, Attempt: 3}}}}
	if got := l.Dead(); len(got) != 1 || !reflect.DeepEqual(got[0].WireLog, want[0]) {
		t.Fatalf("got the logs %+v, want %+v", got, want)
	}
	l.Close()
	// Nothing was stated yet, so the next owner reads both.
	l = open(t, dir, "c")
	if got := len(l.Dead()); got != 2 {
		t.Fatalf("got %d logs of dead owners, want 2", got)
	}
	for _, d := range l.Dead() {
		if err := l.Stated(d); err != nil {
			t.Fatal(err)
		}
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("got the files %v after the statements, want one", got)
	}
}

// An attempt that was noted and then not posted, because its disk had stood still, is not taken for
// posted by the next owner.
func TestANoteThatIsTakenBackSaysNotPosted(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "a")
	note(t, l, 5, 1)
	no := note(t, l, 6, 2)
	if !l.Unposted(no) {
		t.Error("the note cannot be taken back, want that it can")
	}
	if !l.Unposted(none) {
		t.Error("an attempt without an entry cannot be taken back, want that it can")
	}
	if next := note(t, l, 7, 3); next != no {
		t.Errorf("the next attempt has the entry %d, want %d again", next, no)
	}
	l.Unposted(no)
	l.Close()
	if err := l.f.Close(); err == nil || l.Unposted(no) {
		t.Errorf("a note of a closed log is taken back (%v), want that it is not", err)
	}
	want := []campaign.Post{{Run: 7, Seq: 5, Attempt: 1}}
	if got := posts(open(t, dir, "b")); !reflect.DeepEqual(got, want) {
		t.Errorf("the next owner reads %+v, want %+v", got, want)
	}
}

func TestTheLogGrowsWhenNoResultIsDurable(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "a")
	const n = 2*chunk + 10
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for seq := i; seq < n; seq += 4 {
				if _, err := l.Note(campaign.Post{Run: 7, Seq: int64(seq), Attempt: 1}, 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	l.Close()
	got := map[int64]bool{}
	for _, p := range posts(open(t, dir, "b")) {
		got[p.Seq] = true
	}
	if len(got) != n {
		t.Errorf("got %d attempts, want %d", len(got), n)
	}
}

// A growth that a death cut short leaves bytes behind the last entry.
func TestAGrowthThatDidNotEndIsNoDamage(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "a")
	note(t, l, 5, 1)
	if _, err := l.f.WriteAt(make([]byte, 100), headerSize+chunk*entrySize); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if got := posts(open(t, dir, "b")); len(got) != 1 {
		t.Errorf("got %v, want the one attempt", got)
	}
}

func TestADamagedLogProvesNothing(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"empty":              func([]byte) []byte { return nil },
		"half a header":      func(b []byte) []byte { return b[:headerSize/2] },
		"cut":                func(b []byte) []byte { return b[:len(b)-1] },
		"without entries":    func(b []byte) []byte { return b[:headerSize] },
		"no count":           func(b []byte) []byte { clear(b[countAt : countAt+8]); return b },
		"another owner":      func(b []byte) []byte { b[len(magic)+len(boot)+len("ledger-1")+3] ^= 1; return b },
		"an entry":           func(b []byte) []byte { b[headerSize+3] ^= 1; return b },
		"a zero entry":       func(b []byte) []byte { clear(b[headerSize : headerSize+entrySize]); return b },
		"a zero page":        func(b []byte) []byte { clear(b[2*headerSize : 3*headerSize]); return b },
		"an entry elsewhere": func(b []byte) []byte { copy(b[headerSize:], b[headerSize+entrySize:][:entrySize]); return b },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, dir, "a")
			note(t, l, 5, 1)
			l.Close()
			path := files(t, dir)[0]
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, damage(b), 0o600); err != nil { // keeps the inode
				t.Fatal(err)
			}
			l = open(t, dir, "b")
			if got := l.Dead(); len(got) != 0 {
				t.Errorf("got the logs %+v, want none", got)
			}
			if got := files(t, dir); slices.Contains(got, path) {
				t.Errorf("got %v, want the damaged log removed", got)
			}
		})
	}
}

func TestACopyProvesNothing(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "a")
	l.Close()
	path := files(t, dir)[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"2", b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"2", path); err != nil { // as a restored backup
		t.Fatal(err)
	}
	if got := open(t, dir, "b").Dead(); len(got) != 0 {
		t.Errorf("got the logs %+v of a copy, want none", got)
	}
}

func TestAnotherBootProvesNothing(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "a")
	note(t, l, 5, 1)
	l.Close()
	l, err := Open(Options{Dir: dir, Name: "x.db", Ledger: "ledger-1", Owner: "b", Boot: "another"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.Dead(); len(got) != 0 {
		t.Errorf("got the logs %+v of an earlier boot, want none", got)
	}
}

func TestTheLogOfAnotherLedgerIsKept(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "a")
	note(t, l, 5, 1)
	l.Close()
	other, err := Open(Options{Dir: dir, Name: "x.db", Ledger: "ledger-2", Owner: "b", Boot: boot})
	if err != nil {
		t.Fatal(err)
	}
	if got := other.Dead(); len(got) != 0 {
		t.Errorf("got the logs %+v of another ledger, want none", got)
	}
	other.Close()
	if got := open(t, dir, "c").Dead(); len(got) != 1 || got[0].Owner != "a" {
		t.Errorf("got the logs %+v, want that of a", got)
	}
}

func TestTwoProcessesInOneFolderAreRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, "a")
	_, err := Open(Options{Dir: dir, Name: "x.db", Ledger: "ledger-1", Owner: "b", Boot: boot})
	if !errors.Is(err, campaign.ErrLocked) {
		t.Errorf("got the error %v, want %v", err, campaign.ErrLocked)
	}
	// Another ledger may lie in the same folder.
	l, err := Open(Options{Dir: dir, Name: "y.db", Ledger: "ledger-2", Owner: "b", Boot: boot})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestALogThatCannotBeWrittenIsRemoved(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "a")
	note(t, l, 5, 1)
	l.f.Close() // every write fails from now on
	for range 2 {
		if no := note(t, l, 6, 1); no != none {
			t.Errorf("got entry %d, want none", no)
		}
		l.Recorded(none)
	}
	l.Close()
	if got := open(t, dir, "b").Dead(); len(got) != 0 {
		t.Errorf("got the logs %+v, want none: posts are missing in it", got)
	}
}

func TestAPostNeedsTheLogOrItsEnd(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "a")
	l.f.Close()
	if err := os.Remove(l.f.Name()); err != nil { // then void cannot remove it either
		t.Fatal(err)
	}
	if _, err := l.Note(campaign.Post{Run: 7, Seq: 6, Attempt: 1}, 3); err == nil {
		t.Error("got no error, want one: a log that proves too much may still be there")
	}
}

func TestTheFolderMustExist(t *testing.T) {
	if _, err := Open(Options{Dir: filepath.Join(t.TempDir(), "no"), Name: "x", Owner: "a", Boot: boot}); err == nil {
		t.Error("got no error for a folder that does not exist, want one")
	}
	if _, err := Open(Options{Dir: t.TempDir(), Name: "x", Boot: boot}); err == nil {
		t.Error("got no error without an owner, want one")
	}
}

func TestTheKernelHasABootID(t *testing.T) {
	l, err := Open(Options{Dir: t.TempDir(), Name: "x", Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if len(l.o.Boot) != len(boot) {
		t.Errorf("got the boot id %q, want one like %q", l.o.Boot, boot)
	}
}

func BenchmarkNote(b *testing.B) {
	l, err := Open(Options{Dir: b.TempDir(), Name: "x", Owner: "a"})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for b.Loop() {
		no, err := l.Note(campaign.Post{Run: 7, Seq: 6, Attempt: 1}, 3)
		if err != nil {
			b.Fatal(err)
		}
		l.Recorded(no)
	}
}
