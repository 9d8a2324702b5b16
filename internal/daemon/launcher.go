package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"campaignd/campaign"
)

const (
	// launchesAtOnce bounds the imports of a process: each takes a core and 16 bytes a row.
	launchesAtOnce = 2
	// launchAgain is how long a launch that failed is left alone.
	launchAgain = time.Minute
)

// launcher starts runs in the background, so that a long import does not hold up another campaign's firing.
type launcher struct {
	d       *Daemon
	slots   chan struct{}
	running sync.WaitGroup

	mu    sync.Mutex
	busy  map[string]bool
	again map[string]time.Time // when what failed may be tried again
	said  map[string]string    // the last fault of each: logged once
}

func newLauncher(d *Daemon) *launcher {
	return &launcher{d: d, slots: make(chan struct{}, launchesAtOnce), busy: map[string]bool{}, again: map[string]time.Time{}, said: map[string]string{}}
}

// try calls launch in the background under the job key, unless that is under way here, failed a moment ago, or too
// many are under way. What another process does is left to it.
func (l *launcher) try(ctx context.Context, key string, launch func(context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy[key] || time.Now().Before(l.again[key]) || ctx.Err() != nil {
		return
	}
	select {
	case l.slots <- struct{}{}:
	default:
		return // the next look finds it still due
	}
	l.busy[key] = true
	l.running.Go(func() {
		err := launch(ctx)
		<-l.slots
		l.ended(ctx, key, err)
	})
}

// ended notes how a launch ended.
func (l *launcher) ended(ctx context.Context, key string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, key)
	switch {
	case err == nil:
		delete(l.again, key)
		delete(l.said, key)
	case ctx.Err() != nil, errors.Is(err, campaign.ErrTaken), errors.Is(err, campaign.ErrFenced): // another process does it
	default:
		l.again[key] = time.Now().Add(launchAgain)
		if l.said[key] != err.Error() {
			l.said[key] = err.Error()
			l.d.log.Error("a launch failed; it is tried again each minute", "job", key, "err", err)
		}
	}
}

// say logs a fault once until it changes; nil forgets it.
func (l *launcher) say(key, message string, err error) {
	if l.news(key, err) {
		l.d.log.Error(message, "err", err)
	}
}

// sayFaults is say with a line for each finding when err is about files.
func (l *launcher) sayFaults(key, message string, err error) {
	var file *campaign.FileError
	switch {
	case !l.news(key, err):
	case errors.As(err, &file):
		for _, f := range file.Findings {
			l.d.log.Error(message, "err", f.String())
		}
	default:
		l.d.log.Error(message, "err", err)
	}
}

// news reports whether a fault is there and is another than the last of its key.
func (l *launcher) news(key string, err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		delete(l.said, key)
		return false
	}
	before := l.said[key]
	l.said[key] = err.Error()
	return before != err.Error()
}
