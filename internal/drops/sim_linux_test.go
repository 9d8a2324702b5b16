package drops

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/recipients"
)

// world is a folder that any number of watchers share over one ledger, and a service that launches.
type world struct {
	*inbox
	ledger campaign.Ledger
	log    *slog.Logger

	mu       sync.Mutex
	draw     *rand.Rand
	failing  float64           // the share of calls of the bucket and of launches that fail
	denied   bool              // each call of the bucket fails
	launched map[string]string // launch key by content
	least    time.Duration     // shortest launch
	slow     time.Duration     // how much longer a launch may take
	pause    time.Duration     // longest pause of copy
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	l := newLedger(t)
	box := newInbox(t)
	box.write(".probe", "x")
	f, err := os.Open(box.path(".probe"))
	box.ok(err)
	pause := 40 * time.Second
	if _, known := hasWriter(f); !known { // a file system on which the kernel cannot tell
		pause = quietUnknown / 2
	}
	box.ok(errors.Join(f.Close(), os.Remove(f.Name())))
	return &world{inbox: box, ledger: l, pause: pause, log: slog.New(slog.DiscardHandler), launched: map[string]string{},
		draw: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // repeatable
}

// newLedger makes an empty ledger.
func newLedger(t *testing.T) campaign.Ledger {
	t.Helper()
	return sqlitetest.Open(t, ledger.Options{})
}

// chance draws whether something happens.
func (w *world) chance(p float64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draw.Float64() < p
}

// upTo draws a duration.
func (w *world) upTo(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.draw.Float64() * float64(d))
}

var errFault = errors.New("access denied")

// fault is what a call of the bucket returns instead of its answer, nil mostly.
func (w *world) fault() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.denied || w.draw.Float64() < w.failing {
		return errFault
	}
	return nil
}

// faulty is a bucket whose calls may fail, before or after what they do.
type faulty struct {
	Bucket
	w *world
}

func (b faulty) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	if err := b.w.fault(); err != nil {
		return func(yield func(Object, error) bool) { yield(Object{}, err) }
	}
	return b.Bucket.List(ctx, prefix)
}

func (b faulty) Stat(ctx context.Context, key string) (Object, error) {
	if err := b.w.fault(); err != nil {
		return Object{}, err
	}
	return b.Bucket.Stat(ctx, key)
}

func (b faulty) Open(ctx context.Context, o Object, offset int64) (io.ReadCloser, error) {
	if err := b.w.fault(); err != nil {
		return nil, err
	}
	return b.Bucket.Open(ctx, o, offset)
}

func (b faulty) Create(ctx context.Context, key string, text []byte) error {
	return b.change(func() error { return b.Bucket.Create(ctx, key, text) })
}

func (b faulty) Put(ctx context.Context, key string, f *os.File) error {
	return b.change(func() error { return b.Bucket.Put(ctx, key, f) })
}

func (b faulty) Move(ctx context.Context, o Object, to string) error {
	return b.change(func() error { return b.Bucket.Move(ctx, o, to) })
}

func (b faulty) change(do func() error) error {
	if err := b.w.fault(); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return b.w.fault() // it is done, and the answer is lost
}

// launch is Options.Launch over the ledger alone. A list that begins with bad is refused.
func (w *world) launch(ctx context.Context, r Request) (run campaign.Run, err error) {
	hash, _, err := recipients.Hash(r.List)
	if err != nil {
		return run, err
	}
	text, err := os.ReadFile(r.List)
	if err != nil {
		return run, err
	}
	if strings.HasPrefix(string(text), "bad") {
		return run, &Refused{Code: "invalid_list", Message: "it is bad"}
	}
	if w.chance(w.failing) {
		return run, errors.New("the service is away")
	}
	run, err = w.ledger.CreateRun(ctx, campaign.Run{Campaign: r.Campaign, ListHash: hash, ListName: r.List, Launch: r.Key,
		Header: []string{"phone"}, Wanted: campaign.WantRun})
	if err != nil && !errors.Is(err, campaign.ErrRunExists) {
		return run, err
	}
	w.mu.Lock()
	if key, ok := w.launched[string(text)]; ok && key != r.Key {
		w.Errorf("%q was launched as %q and as %q, want once", text, key, r.Key)
	}
	w.launched[string(text)] = r.Key
	w.mu.Unlock()
	select {
	case <-ctx.Done():
		return run, ctx.Err()
	case <-time.After(w.least + w.upTo(w.slow)):
	}
	if w.chance(w.failing) {
		return run, errors.New("the import failed")
	}
	if err := w.ledger.FinishImport(ctx, run.No, 0, campaign.Ready); err != nil {
		return run, err
	}
	return w.ledger.Run(ctx, run.No)
}

// watcher is one process, with its spool.
func (w *world) watcher(name string) *Watcher {
	return New(Options{Rules: []Rule{{Name: "file:///inbox", Bucket: faulty{w.Folder, w}, Campaign: "spring"}}, Ledger: w.ledger,
		Spool: filepath.Join(w.dir, "..", "spool "+name), Launch: w.launch, Missing: func(string) error { return nil }, Owner: name,
		Lease: 15 * time.Second, Log: w.log})
}

// replica runs a process that is stopped and started at random instants until ctx ends.
func (w *world) replica(ctx context.Context, name string) {
	for ctx.Err() == nil {
		life, stop := context.WithTimeout(ctx, time.Second+w.upTo(time.Minute))
		w.watcher(name).Run(life)
		stop()
		select {
		case <-ctx.Done():
		case <-time.After(w.upTo(10 * time.Second)):
		}
	}
}

// put gives a file its name when it is complete.
func (w *world) put(name, text string) {
	w.write(".part", text)
	w.ok(os.Rename(w.path(".part"), w.path(name)))
}

// copy writes a file under its name in pieces, with pauses.
func (w *world) copy(name, text string) {
	f, err := os.OpenFile(w.path(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	w.ok(err)
	for _, piece := range strings.SplitAfter(text, "\n") {
		_, err := f.WriteString(piece)
		w.ok(err)
		time.Sleep(w.upTo(w.pause))
	}
	w.ok(f.Close())
}

func list(n, rows int) string {
	return fmt.Sprintf("phone\n%s", strings.Repeat(fmt.Sprintf("+23480312%05d\n", n), rows))
}

var seeds = flag.Uint64("seeds", 1, "number of seeds of TestEachDroppedFileIsTakenOnce")

// Three processes, stopped at random instants; a bucket and a service that fail now and then, and a
// minute without rights.
func TestEachDroppedFileIsTakenOnce(t *testing.T) {
	t.Parallel()
	for seed := range *seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { eachOnce(t, seed) })
		})
	}
}

func eachOnce(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	w.failing, w.slow = 0.03, 20*time.Second
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		work.Go(func() { w.replica(ctx, name) })
	}
	var writing sync.WaitGroup
	want := map[string]bool{} // contents that must have a run
	for i := range 18 {
		name, text := fmt.Sprintf("list%d.csv", i%14), list(i, 1+i%5)
		for { // a list that is replaced before it was read is gone
			if _, err := os.Lstat(w.path(name)); errors.Is(err, fs.ErrNotExist) {
				break
			}
			time.Sleep(time.Second)
		}
		switch i % 6 {
		case 0, 1, 2:
			w.put(name, text)
			want[text] = true
		case 3: // the same content again, under another name
			w.put(name, list(i-1, 1+(i-1)%5))
		case 4:
			writing.Go(func() { w.copy(name, text) })
			want[text] = true
		case 5:
			w.put(name, "bad "+text)
		}
		time.Sleep(w.upTo(10 * time.Second))
		w.mu.Lock()
		w.denied = i == 7
		w.mu.Unlock()
		if i == 7 {
			time.Sleep(time.Minute)
		}
	}
	writing.Wait()
	time.Sleep(2 * time.Minute)
	w.mu.Lock()
	w.failing = 0
	w.mu.Unlock()
	time.Sleep(2 * time.Minute)
	stop()
	work.Wait()
	w.judge(want)
}

// judge compares the folder and the ledger with what was dropped.
func (w *world) judge(want map[string]bool) {
	w.Helper()
	for text := range want {
		if w.launched[text] == "" {
			w.Errorf("%q has no run, want one", text)
		}
	}
	for text := range w.launched {
		if !want[text] {
			w.Errorf("%q has a run, want none: it is no whole list", text)
		}
	}
	files, err := w.ledger.DroppedFiles(w.Context(), campaign.DropFilter{})
	w.ok(err)
	places := map[string]string{}
	for _, f := range files {
		switch _, err := os.Stat(w.path(f.Key)); {
		case f.State == campaign.DropGone:
		case f.State == campaign.DropClaimed:
			w.Errorf("%s is claimed: %s; want an end", f.Key, f.Detail)
		case places[f.Place] != "":
			w.Errorf("%s and %s are both at %s, want places of their own", f.Key, places[f.Place], f.Place)
		case w.text(f.Place) == "" && f.Detail == replaced && w.text(f.Place+reportCSV) != "":
		case w.text(f.Place) == "" || w.text(f.Place+reportJSON) == "":
			w.Errorf("%s (%s, %s): got the list %q and the report %q at %s, want both", f.Key, f.State, f.Detail, w.text(f.Place),
				w.text(f.Place+reportJSON), f.Place)
		case f.Run != 0 && w.launched[w.text(f.Place)] != f.Launch():
			w.Errorf("%s: %s is not the list of its run %q", f.Key, f.Place, f.Launch())
		case err == nil || !errors.Is(err, fs.ErrNotExist):
			w.Errorf("%s (%s) is still there, want it moved to %s", f.Key, f.State, f.Place)
		}
		places[f.Place] = f.Key
	}
	for _, key := range w.files() {
		if filepath.Dir(key) == "." || strings.HasPrefix(filepath.Base(key), ".") {
			w.Errorf("%s is left, want nothing in the folder itself, and nothing temporary", key)
		}
	}
}
