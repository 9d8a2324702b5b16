package schedule

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/faults"
)

const (
	// launchesAtOnce limits the imports of a process: each takes a core and 16 bytes a row.
	launchesAtOnce = 2
	// launchAgain is the wait before a failed launch is tried again.
	launchAgain = time.Minute
)

// Launcher starts runs in the background, so that a long import does not delay the firing of
// another campaign.
type Launcher struct {
	sc      *Scheduler
	running sync.WaitGroup
	freed   chan struct{} // a launch has ended after another one was refused

	faults faults.Known // by key of the launch

	mu    sync.Mutex
	full  bool // a launch was refused since the last one ended
	busy  map[string]bool
	again map[string]time.Time // when a failed launch may be tried again, by its key
}

// NewLauncher makes a launcher for the runs of sc.
func NewLauncher(sc *Scheduler) *Launcher {
	return &Launcher{sc: sc, freed: make(chan struct{}, 1), busy: map[string]bool{}, again: map[string]time.Time{}}
}

// Wait waits for the launches that run in the background.
func (l *Launcher) Wait() { l.running.Wait() }

// try calls launch in the background under the job key. It does nothing if that launch is running
// in this process, if it failed less than launchAgain ago, or if launchesAtOnce are running.
func (l *Launcher) try(ctx context.Context, key string, launch func(context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[key] || time.Now().Before(l.again[key]) || ctx.Err() != nil {
		return
	}
	if len(l.busy) >= launchesAtOnce {
		l.full = true
		return // it is still due at the next try
	}
	l.busy[key] = true
	l.running.Go(func() { l.ended(ctx, key, launch(ctx)) })
}

// ended records the end of a launch, and logs a new fault, or how often the previous one occurred.
func (l *Launcher) ended(ctx context.Context, key string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, key)
	if l.full {
		l.full = false
		select {
		case l.freed <- struct{}{}:
		default:
		}
	}
	switch {
	case err == nil:
		delete(l.again, key)
		if times := l.faults.Succeeded(key); times > 0 {
			l.sc.o.Log.Info("a launch that failed has succeeded", "job", key, "failures", times)
		}
	case ctx.Err() != nil, errors.Is(err, campaign.ErrTaken), errors.Is(err, campaign.ErrFenced): // another process does the job
	default:
		l.again[key] = time.Now().Add(launchAgain)
		if changed, before := l.faults.Failed(key, causeOf(err)); changed {
			l.sc.o.Log.Error("a launch failed and will be tried again", faults.Counting(before, "job", key, "err", err)...)
		}
	}
}

// logOnce logs a fault of key once until it changes. A nil err forgets the fault.
func (l *Launcher) logOnce(key, message string, err error) {
	if l.isNew(key, err) {
		l.sc.o.Log.Error(message, "err", err)
	}
}

// checkFolder logs once that there is no campaigns folder.
func (l *Launcher) checkFolder(dir string) {
	if err := CheckFolder(dir); l.isNew("no folder", err) {
		l.sc.o.Log.Warn("campaigns cannot be read", "err", err)
	}
}

// logFindingsOnce logs a fault as logOnce does, with one line for each finding of a file.
func (l *Launcher) logFindingsOnce(key, message string, err error) {
	var file *file.Error
	switch {
	case !l.isNew(key, err):
	case errors.As(err, &file):
		for _, f := range file.Findings {
			l.sc.o.Log.Error(message, "err", f.String())
		}
	default:
		l.sc.o.Log.Error(message, "err", err)
	}
}

// isNew reports whether err is not nil and differs from the last fault of key.
func (l *Launcher) isNew(key string, err error) bool {
	if err == nil {
		l.faults.Succeeded(key)
		return false
	}
	changed, _ := l.faults.Failed(key, err.Error())
	return changed
}

// firingError is why a firing was not launched.
type firingError struct {
	file string
	at   time.Time
	err  error
}

func (e *firingError) Error() string {
	return fmt.Sprintf("%s, due %s: %v", e.file, e.at.Format(time.RFC3339), e.err)
}

func (e *firingError) Unwrap() error { return e.err }

// causeOf returns the words of an error without the firing, so that the same cause has the same
// words.
func causeOf(err error) string {
	var firing *firingError
	if errors.As(err, &firing) {
		err = firing.err
	}
	return faults.Words(err)
}
