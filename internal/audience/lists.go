package audience

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/commerce"
	"campaignd/internal/filelock"
)

// Ledger is the part of the ledger that says which lists are being imported, and that keeps the
// payment links.
type Ledger interface {
	Runs(ctx context.Context, f campaign.RunFilter) ([]campaign.Run, error)
	campaign.PaymentLinkLedger
}

// Lists makes lists. Each is in its own folder, with the lock of the process that made it, and
// is deleted once that process has given it up and no run is being imported from it. Make it with
// NewLists; a nil *Lists makes no list. Its methods may be called concurrently, also in several
// processes with one folder.
type Lists struct {
	folder string
	client func() (*commerce.Client, error)
	ledger Ledger
	log    *slog.Logger
	one    chan struct{} // has the launch that may make a list, because all share commerce.rate
}

// NewLists makes lists below folder; "": none can be launched. client makes the client of the
// platform for one list.
func NewLists(folder string, client func() (*commerce.Client, error), ledger Ledger, log *slog.Logger) *Lists {
	return &Lists{folder, client, ledger, log, make(chan struct{}, 1)}
}

// Start is Start of the request. If its campaign has an audience and it names no list, a launch
// that needs a list makes it here, and deletes it when it is imported. One launch at a time does
// so; another waits or, with NoWait, returns campaign.ErrTaken.
func (l *Lists) Start(ctx context.Context, r launch.Request) (launch.Outcome, error) {
	def, source, err := r.Read()
	if err != nil || def.Audience == nil || r.List != "" || l == nil {
		return r.Start(ctx) // a fault of the file is found there too
	}
	r.Source = source
	if err := l.take(ctx, r.NoWait); err != nil {
		return launch.Outcome{}, err
	}
	defer func() { <-l.one }()
	var made *Made
	r.Make = func(ctx context.Context) (_ string, _ *launch.Offer, err error) {
		if l.folder == "" {
			return "", nil, Fault("audience", "its list has no folder; set data_dir")
		}
		if _, err := l.Sweep(ctx); err != nil {
			return "", nil, err
		}
		if made, err = l.make(ctx, def, l.tell(def.Name, r.Progress), stored(l.ledger, def.Audience.PaymentLink)); err != nil {
			return "", nil, err
		}
		return made.Path, made.Offer(), nil
	}
	out, err := r.Start(ctx)
	l.clear(ctx, made)
	return out, err
}

// clearWithin is how long a launch waits for the ledger and the disk when it clears its list away.
const clearWithin = 5 * time.Second

// clear deletes the list of a launch that has ended, also of an interrupted one. A list that stays
// is no failure of the launch: the next Sweep deletes it.
func (l *Lists) clear(ctx context.Context, made *Made) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), clearWithin)
	defer stop()
	var err error
	if made != nil {
		err = made.lock.Release()
	}
	if _, swept := l.Sweep(ctx); err != nil || swept != nil {
		l.log.Warn("a list of an audience could not be deleted; the next launch or start tries again", "err", errors.Join(err, swept))
	}
}

// tellEvery is how often the log tells how many rows were fetched.
const tellEvery = 10 * time.Second

// tell returns what Write calls for a launch. A launch without progress tells it to the log.
func (l *Lists) tell(name string, progress func(phase string, rows int64)) func(int64) {
	began := time.Now()
	told := began
	return func(rows int64) {
		if progress != nil {
			progress("fetching", rows)
			return
		}
		if now := time.Now(); now.Sub(told) >= tellEvery {
			told = now
			l.log.Info("an audience is being fetched", "campaign", name, "rows", rows,
				"per_second", int64(float64(rows)/now.Sub(began).Seconds()))
		}
	}
}

// take makes this the one launch that may make a list.
func (l *Lists) take(ctx context.Context, noWait bool) error {
	select {
	case l.one <- struct{}{}:
		return nil
	default:
	}
	if noWait {
		return fmt.Errorf("make the list of an audience: %w", campaign.ErrTaken)
	}
	select {
	case l.one <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Made is a list that this process made.
type Made struct {
	Path string
	Counts
	lock *filelock.Lock
}

// Offer is what will end while the list is sent to.
func (m *Made) Offer() *launch.Offer { return &m.offer }

// Remove deletes the list.
func (m *Made) Remove() error {
	return errors.Join(m.lock.Release(), os.RemoveAll(filepath.Dir(m.Path)))
}

// Make makes the list of a campaign for somebody who looks at it: its payment links are examples.
// fetched is called as by Write. With an error there is no list.
func (l *Lists) Make(ctx context.Context, d *file.Definition, fetched func(rows int64)) (*Made, error) {
	return l.make(ctx, d, fetched, example(d.Audience.PaymentLink))
}

func (l *Lists) make(ctx context.Context, d *file.Definition, fetched func(int64), link linker) (_ *Made, err error) {
	m := &Made{}
	if m.Path, m.lock, err = l.reserve(ctx); err != nil {
		return nil, fmt.Errorf("write the list of an audience: %w", err)
	}
	m.Path = filepath.Join(m.Path, d.Name+".csv")
	if m.Counts, err = l.write(ctx, d, m.Path, fetched, link); err != nil {
		return nil, errors.Join(err, m.Remove())
	}
	return m, nil
}

// Write is the function Write with a new client.
func (l *Lists) Write(ctx context.Context, d *file.Definition, path string, fetched func(rows int64)) (Counts, error) {
	return l.write(ctx, d, path, fetched, noLink)
}

func (l *Lists) write(ctx context.Context, d *file.Definition, path string, fetched func(int64), link linker) (Counts, error) {
	client, err := l.client()
	if err != nil {
		return Counts{}, err
	}
	defer client.Close()
	return write(ctx, client, d, path, fetched, link)
}

// The name of a lock: of a list in its folder, and of the folder of all lists.
const lockName = "lock"

// reserve makes the folder of a list. The lock of all lists keeps Sweep away until it is locked.
func (l *Lists) reserve(ctx context.Context) (dir string, lock *filelock.Lock, err error) {
	if l.folder != "" {
		all, err := l.lock(ctx)
		if err != nil {
			return "", nil, err
		}
		defer func() { err = errors.Join(err, all.Release()) }()
	}
	if dir, err = os.MkdirTemp(l.folder, "audience-*"); err != nil { // of mode 0700; "": in the system's folder
		return "", nil, err
	}
	if lock, err = filelock.Take(filepath.Join(dir, lockName)); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, lock, nil
}

// lock takes the lock of all lists, which a process holds for a moment only.
func (l *Lists) lock(ctx context.Context) (*filelock.Lock, error) {
	if err := os.MkdirAll(l.folder, 0o700); err != nil {
		return nil, err
	}
	for {
		lock, err := filelock.Take(filepath.Join(l.folder, lockName))
		if !errors.As(err, new(*filelock.HeldError)) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Kept counts the lists, also those that the next Sweep deletes.
func (l *Lists) Kept() (n int64, err error) {
	if l == nil || l.folder == "" {
		return 0, nil
	}
	entries, err := os.ReadDir(l.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for _, e := range entries {
		if e.IsDir() {
			n++
		}
	}
	return n, nil
}

// Sweep deletes the lists that nobody needs, such as lists of killed processes. It returns how many
// stay, because a process makes them or a run is being imported from them.
func (l *Lists) Sweep(ctx context.Context) (kept int64, err error) {
	if l == nil || l.folder == "" {
		return 0, nil
	}
	if _, err := os.Stat(l.folder); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	lock, err := l.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	entries, err := os.ReadDir(l.folder)
	if err != nil {
		return 0, err
	}
	idle := map[string]bool{}
	for _, e := range entries {
		path := filepath.Join(l.folder, e.Name())
		switch {
		case !e.IsDir():
		case filelock.Held(filepath.Join(path, lockName)):
			kept++
		default:
			idle[path] = true
		}
	}
	if len(idle) == 0 {
		return kept, nil
	}
	// The runs are read after the locks: a process stores its run before it gives up the list.
	runs, err := l.ledger.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return kept, fmt.Errorf("read runs: %w", err)
	}
	for _, r := range runs {
		if dir := filepath.Dir(r.ListName); r.State == campaign.Importing && idle[dir] {
			delete(idle, dir)
			kept++
		}
	}
	for dir := range idle {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return kept, err
}
