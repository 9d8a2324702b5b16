package drops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/reporting"
)

// shelf is a bucket of one file that must be seen unchanged for 10 s.
type shelf struct {
	Bucket
	object Object
	quiet  time.Duration
	err    error // of its listing
}

func (b *shelf) Every() time.Duration { return time.Second }

func (b *shelf) Quiet(Object) (time.Duration, bool) { return b.quiet, false }

func (b *shelf) List(context.Context, string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) { yield(b.object, b.err) }
}

// desk is a ledger that keeps what waits, and counts claims. Another process has claimed each file.
type desk struct {
	noFiles
	waits  []campaign.DropWait
	claims int
}

func (d *desk) NoteWaits(_ context.Context, _, _ string, waits []campaign.DropWait) error {
	d.waits = waits
	return nil
}

func (d *desk) ClaimFile(_ context.Context, f campaign.DroppedFile) (campaign.DroppedFile, bool, error) {
	d.claims++
	f.State = campaign.DropClaimed
	return f, false, nil
}

// shelved is a watcher of a shelf in virtual time. pass lets time pass, with a look each second.
func shelved(t *testing.T, do func(t *testing.T, b *shelf, d *desk, missing *error, pass func(time.Duration))) {
	synctest.Test(t, func(t *testing.T) {
		b, d := &shelf{object: Object{Key: "list.csv", ETag: "one", Size: 9}, quiet: 10 * time.Second}, &desk{}
		var missing error
		w := New(Options{Ledger: d, Rules: []Rule{{Name: "inbox", Bucket: b, Campaign: "spring"}}, Log: slog.New(slog.DiscardHandler),
			Missing: func(string) error { return missing }, Lease: time.Minute})
		do(t, b, d, &missing, func(d time.Duration) {
			for ; d > 0; d -= time.Second {
				w.look(t.Context(), w.folders[0])
				w.claim(t.Context(), w.folders[0])
				time.Sleep(time.Second)
			}
		})
	})
}

func TestAReplacedFileIsQuietAnew(t *testing.T) {
	shelved(t, func(t *testing.T, b *shelf, d *desk, _ *error, pass func(time.Duration)) {
		pass(6 * time.Second)
		b.object.ETag = "two"
		pass(8 * time.Second)
		if d.claims != 0 {
			t.Errorf("8 s after it was replaced: got %d claims, want none before 10 s", d.claims)
		}
		pass(4 * time.Second)
		if d.claims != 1 {
			t.Errorf("12 s after it was replaced: got %d claims, want 1", d.claims)
		}
	})
}

// A server whose ETags differ at each look makes a file of the first looks, not of each.
func TestAFileThatAlwaysChangesWaits(t *testing.T) {
	shelved(t, func(t *testing.T, b *shelf, d *desk, _ *error, pass func(time.Duration)) {
		b.quiet = 0 // as a bucket
		for n := range 30 {
			b.object.ETag = fmt.Sprint("version ", n)
			pass(2 * time.Second)
		}
		if d.claims != 1+mostChanges {
			t.Errorf("30 versions in a minute: got %d claims, want %d", d.claims, 1+mostChanges)
		}
		if len(d.waits) != 1 || !strings.Contains(d.waits[0].Reason, "another version") {
			t.Errorf("got the waits %+v, want one that says why", d.waits)
		}
		pass(12 * time.Second)
		if d.claims != 2+mostChanges {
			t.Errorf("a version stayed for 12 s: got %d claims, want %d", d.claims, 2+mostChanges)
		}
		b.object.ETag = "replaced"
		pass(2 * time.Second)
		if d.claims != 3+mostChanges {
			t.Errorf("replaced once: got %d claims, want %d at once", d.claims, 3+mostChanges)
		}
	})
}

func TestAFailedListingForgetsNoQuietTime(t *testing.T) {
	shelved(t, func(t *testing.T, b *shelf, d *desk, _ *error, pass func(time.Duration)) {
		pass(5 * time.Second)
		b.err = errFault
		pass(2 * time.Second)
		b.err = nil
		pass(5 * time.Second)
		if d.claims != 1 {
			t.Errorf("12 s after it was seen first: got %d claims, want 1", d.claims)
		}
	})
}

// The process that claimed a file may have died, so its file is claimed again after tryAgain.
func TestAFileThatStaysIsClaimedAgain(t *testing.T) {
	shelved(t, func(t *testing.T, _ *shelf, d *desk, _ *error, pass func(time.Duration)) {
		pass(12*time.Second + tryAgain/2)
		if d.claims != 1 {
			t.Errorf("within %v of a claim: got %d claims, want 1", tryAgain, d.claims)
		}
		pass(tryAgain)
		if d.claims != 2 {
			t.Errorf("%v after a claim: got %d claims, want 2", tryAgain, d.claims)
		}
	})
}

func TestAWaitBeginsWithItsReason(t *testing.T) {
	shelved(t, func(t *testing.T, _ *shelf, d *desk, missing *error, pass func(time.Duration)) {
		*missing = errors.New("the campaign is missing")
		pass(time.Minute)
		*missing = errors.New("the campaign is broken")
		changed := time.Now()
		pass(time.Minute)
		if len(d.waits) != 1 || d.waits[0].Reason != "the campaign is broken" || d.waits[0].Since.Before(changed) ||
			d.waits[0].Since.After(changed.Add(2*time.Second)) {
			t.Errorf("got %+v, want one file that waits for the broken campaign since %v", d.waits, changed)
		}
	})
}

// Another ledger counts its files from 1, too: its results stay, whatever their number. So does one
// that was restored from a backup, whose exporter gives each list the same name.
func TestResultsOfAnotherLedgerAreNotOverwritten(t *testing.T) {
	const taken, before = "2026-03-09T12:00:00.123Z", "2026-03-08T12:00:00.123Z"
	for _, tt := range []struct{ from, taken, want string }{
		{"march.csv", taken, "done/list-2.csv"}, {"list.csv", before, "done/list-2.csv"}, {"list.csv", taken, "done/list.csv"},
	} {
		w := newWorld(t, 1)
		at, err := time.Parse(time.RFC3339, taken)
		w.ok(err)
		f, _, err := w.ledger.ClaimFile(t.Context(), campaign.DroppedFile{Bucket: "b", Key: "list.csv", ETag: "one", Campaign: "spring",
			TakenAt: at.Add(456 * time.Microsecond)}) // more than the ledger keeps
		w.ok(err)
		found := fmt.Sprintf(`{"file": %d, "from": %q, "taken_at": %q}`, f.No, tt.from, tt.taken)
		w.write("done/list.csv"+acceptedName, found)
		k := &task{Watcher: w.watcher("a"), p: &watched{Rule: Rule{Bucket: w.Folder}}, f: f, dir: t.TempDir()}
		w.ok(k.chooseName(t.Context(), doneFolder, acceptedName, acceptance{File: f.No, From: f.Key, TakenAt: f.TakenAt}))
		if k.f.Place != tt.want || w.text("done/list.csv"+acceptedName) != found {
			t.Errorf("beside %s: got the place %s and %s, want %s and the result as it was", found, k.f.Place,
				w.text("done/list.csv"+acceptedName), tt.want)
		}
	}
}

// A list that was replaced before it was moved comes from the spool, or is said to be lost.
func TestHalfAListIsNeverPutInItsPlace(t *testing.T) {
	w := newWorld(t, 1)
	text := list(1, 20)
	for spooled, want := range map[int]string{len(text): text, len(text) / 2: ""} {
		dir, place := t.TempDir(), fmt.Sprintf("done/list-%d.csv", spooled)
		k := &task{Watcher: w.watcher("a"), p: &watched{Rule: Rule{Bucket: w.Folder}}, dir: dir,
			f: campaign.DroppedFile{Key: "list.csv", ETag: "gone", Size: int64(len(text)), Place: place}}
		w.ok(os.MkdirAll(filepath.Dir(k.list()), 0o700))
		f, err := os.Create(k.list())
		w.ok(err)
		s := newSpool(f, dir)
		_, err = s.Write([]byte(text[:spooled]))
		w.ok(errors.Join(err, s.checkpoint(), f.Close()))
		w.ok(k.move(t.Context()))
		if got := w.text(place); got != want || (k.f.Detail == replaced) != (want == "") {
			t.Errorf("%d of %d bytes in the spool: got %q and the detail %q, want %q", spooled, len(text), got, k.f.Detail, want)
		}
	}
}

// swapped is a bucket that replaces a list by one of the same length when it has been read.
type swapped struct {
	Bucket
	then func()
}

func (b swapped) Open(ctx context.Context, o Object, offset int64) (io.ReadCloser, error) {
	r, err := b.Bucket.Open(ctx, o, offset)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r)
	b.then()
	return io.NopCloser(strings.NewReader(string(text))), errors.Join(err, r.Close())
}

func TestAListReplacedWhileItWasReadIsNotTaken(t *testing.T) {
	box := newInbox(t)
	box.write("list.csv", list(1, 1))
	o := box.stat("list.csv")
	k := &task{Watcher: New(Options{}), dir: t.TempDir(), p: &watched{Rule: Rule{Bucket: swapped{box.Folder, func() {
		box.write("new.csv", list(2, 1))
		box.ok(os.Rename(box.path("new.csv"), box.path("list.csv")))
	}}}}}
	k.f.Key, k.f.ETag, k.f.Size = o.Key, o.ETag, o.Size
	if _, err := k.fetch(t.Context()); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v, want ErrChanged", err)
	}
}

func TestARunIsSettledWhenNoStatusIsAwaited(t *testing.T) {
	now := time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		state       campaign.State
		ended, last time.Duration // ago
		status      campaign.Status
		want        bool
	}{
		"under way":                     {campaign.Running, 2 * day, 2 * day, campaign.Failed, false},
		"nothing delivered":             {campaign.Finished, time.Minute, time.Minute, campaign.Failed, true},
		"delivered, a read may come":    {campaign.Finished, 3 * day, 23 * time.Hour, campaign.Delivered, false},
		"delivered, no event since":     {campaign.Finished, 25 * time.Hour, 26 * time.Hour, campaign.Delivered, true},
		"delivered, ended a moment ago": {campaign.Finished, time.Hour, 26 * time.Hour, campaign.Delivered, false},
		"accepted":                      {campaign.Finished, 6 * day, 6 * day, campaign.Accepted, false},
		"accepted a week ago":           {campaign.Finished, 8 * day, time.Minute, campaign.Accepted, true},
		"sent":                          {campaign.Finished, 6 * day, 6 * day, campaign.Sent, false},
		"queued":                        {campaign.Cancelled, 2 * day, 2 * day, campaign.Queued, false},
		"sending":                       {campaign.Cancelled, 2 * day, 2 * day, campaign.Sending, false},
		"in doubt":                      {campaign.Finished, 2 * day, 2 * day, campaign.InDoubt, false},
	} {
		run := campaign.Run{State: c.state, EndedAt: ago(c.ended)}
		report := &reporting.Report{Totals: map[campaign.Status]int64{c.status: 1}}
		if got := settled(run, report, ago(c.last), now); got != c.want {
			t.Errorf("%s: got settled %v, want %v", name, got, c.want)
		}
	}
	// The awaited statuses are a sum: none makes up for another.
	awaited := []campaign.Status{campaign.Accepted, campaign.Sent, campaign.InDoubt, campaign.Queued, campaign.Sending}
	for i, a := range awaited {
		for _, b := range awaited[i+1:] {
			report := &reporting.Report{Totals: map[campaign.Status]int64{a: 1, b: 1}}
			if settled(campaign.Run{State: campaign.Finished, EndedAt: ago(day)}, report, ago(day), now) {
				t.Errorf("one %s, one %s: got settled, want that their statuses are awaited", a, b)
			}
		}
	}
}

// away is a bucket in which an object changes, or is gone, between two calls.
type away struct {
	Bucket
	err error
}

func (b away) Move(context.Context, Object, string) error { return b.err }

// A sidecar that somebody else moves or replaces delays no list.
func TestASidecarThatChangesDelaysNoList(t *testing.T) {
	box := newInbox(t)
	box.write("list.csv.yaml", "name: spring\n")
	for _, tt := range []struct{ err, want error }{{ErrChanged, nil}, {fs.ErrNotExist, nil}, {fs.ErrExist, fs.ErrExist}} {
		k := &task{Watcher: New(Options{}), p: &watched{Rule: Rule{Bucket: away{box.Folder, tt.err}}},
			f: campaign.DroppedFile{Key: "list.csv", Place: "done/list.csv", Sidecar: box.stat("list.csv.yaml").ETag}}
		if err := k.moveSidecar(t.Context()); !errors.Is(err, tt.want) {
			t.Errorf("%v while it is moved: got %v, want %v", tt.err, err, tt.want)
		}
	}
}

// A sidecar of the size of the largest campaign file is read whole.
func TestASidecarIsReadWholeOrRefused(t *testing.T) {
	box := newInbox(t)
	k := &task{Watcher: New(Options{}), p: &watched{Rule: Rule{Bucket: box.Folder}}, f: campaign.DroppedFile{Key: "list.csv"}}
	for size, want := range map[int]bool{file.MaxSize: true, file.MaxSize + 1: false} {
		box.write("list.csv.yaml", strings.Repeat("#", size))
		k.f.Sidecar = box.stat("list.csv.yaml").ETag
		text, err := k.sidecar(t.Context())
		var refused *Refused
		if want && (err != nil || len(text) != size) || !want && !errors.As(err, &refused) {
			t.Errorf("%d bytes: got %d of them and %v, want them taken: %v", size, len(text), err, want)
		}
	}
}

// A process that died while it wrote a result leaves a part of it.
func TestAResultReplacesThePartOfADeadProcess(t *testing.T) {
	box := newInbox(t)
	box.write("done/.list.csv.report.json.part", "{\"half")
	f, err := os.Open(filepath.Join(box.dir, "done/.list.csv.report.json.part"))
	box.ok(err)
	defer func() { _ = f.Close() }()
	whole, err := os.CreateTemp(t.TempDir(), "")
	box.ok(err)
	_, err = whole.WriteString("{}")
	box.ok(err)
	box.ok(box.Put(t.Context(), "done/list.csv.report.json", whole))
	box.ok(whole.Close())
	if got := box.text("done/list.csv.report.json"); got != "{}" {
		t.Errorf("got %q, want the whole result", got)
	}
}

// A file may lie for an hour before its launch succeeds. Its run is as new as any.
func TestResultsAreRenewedByTheAgeOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		o, first := w.watcher("a").o, time.Now()
		o.Launch = func(ctx context.Context, r Request) (campaign.Run, error) {
			if time.Since(first) < time.Hour {
				return campaign.Run{}, errors.New("the service is away")
			}
			return w.launch(ctx, r)
		}
		stop := w.running(New(o))
		defer stop()
		w.put("list.csv", list(1, 1))
		time.Sleep(time.Hour + 2*time.Minute)
		f := w.dropped()["list.csv"]
		run, err := w.ledger.Run(t.Context(), f.Run)
		w.ok(err)
		age := time.Since(run.CreatedAt)
		if wait := time.Until(f.NextAt); f.State != campaign.DropLaunched || age > 2*time.Minute || wait > nextReport(age, 1) {
			t.Errorf("a run of %v: got %s and the next results in %v, want launched, within %v", age, f.State, wait, nextReport(age, 1))
		}
	})
}
