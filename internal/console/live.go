package console

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"campaignd/internal/operator"
)

const (
	// readEvery is how often the figures of a watched run are read.
	readEvery = time.Second
	// admitEvery is how often a stream looks whether its session has ended.
	admitEvery = 5 * time.Second
	// mostStreams is the most streams of a process. A page without one keeps the figures that it
	// had when it was loaded.
	mostStreams = 512
	// slowest is the longest time in which a browser may read nothing.
	slowest = 10 * time.Second
)

// watched is a run as one company sees it; "": all companies.
type watched struct{ run, company string }

// figures are the figures of a run that somebody looks at. They are read once a second for all its
// viewers, and rendered for those who watch it.
type figures struct {
	mu    sync.Mutex
	at    time.Time
	view  runView // without what its visitor may do
	whole bool    // the view has its plots and limits, and html has the view
	html  []byte
	err   error
}

// watch has the figures of the runs that somebody watches.
type watch struct {
	mu      sync.Mutex
	streams int
	runs    map[watched]*figures
}

// of returns the figures of a run, and forgets those that nobody asked for lately.
func (w *watch) of(key watched, now time.Time) *figures {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, ok := w.runs[key]; ok {
		return f
	}
	for k, f := range w.runs {
		if f.mu.TryLock() {
			if now.Sub(f.at) > admitEvery {
				delete(w.runs, k)
			}
			f.mu.Unlock()
		}
	}
	f := &figures{}
	w.runs[key] = f
	return f
}

// forget has all figures read again, because somebody has changed something.
func (w *watch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.runs)
}

// count adds n streams, unless there are too many.
func (w *watch) count(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && w.streams >= mostStreams {
		return false
	}
	w.streams += n
	return true
}

// figures returns the figures of a run for the company of the visitor; they are at most a second
// old. If they are whole, they have plots and limits, and the HTML has what the view has.
func (v *visit) figures(run string, whole bool) (runView, []byte, error) {
	return v.watch.of(watched{run, v.who.Company}, time.Now()).read(v, run, whole)
}

func (f *figures) read(v *visit, run string, whole bool) (runView, []byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.at) >= readEvery*9/10 {
		f.at, f.whole, f.html = now, false, nil
		f.view, f.err = v.runView(v.ctx, run)
	}
	if f.whole || !whole || f.err != nil {
		return f.view, f.html, f.err
	}
	var b bytes.Buffer
	if f.err = v.complete(v.ctx, &f.view); f.err == nil {
		f.err = v.pages["run"].ExecuteTemplate(&b, "figures", f.view)
	}
	f.whole, f.html = true, bytes.Map(shown, b.Bytes())
	return f.view, f.html, f.err
}

// live streams the figures of a run until the browser leaves, the session ends or the process
// stops. A fault of the ledger is waited out.
func live(v *visit) (any, error) {
	run, err := v.d.Run(v.r.Context(), v.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	if !v.watch.count(1) {
		return nil, &problem{http.StatusServiceUnavailable, "Too many pages are open. Load this one again to see new figures."}
	}
	defer v.watch.count(-1)
	c := http.NewResponseController(v.w)
	if err := c.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no") // a proxy that buffers would delay the figures
	send := func(text string) bool {
		if err := c.SetWriteDeadline(time.Now().Add(slowest)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return false
		}
		_, err := v.w.Write([]byte(text))
		return err == nil && c.Flush() == nil
	}
	if !send("retry: 2000\n\n") {
		return nil, nil //nolint:nilnil // it has answered
	}
	tick, admitted, last := time.NewTicker(readEvery), time.Now(), ""
	defer tick.Stop()
	for {
		_, text, err := v.figures(run.ID, true)
		if html := string(text); err == nil && html != last {
			if !send(event(html)) {
				break
			}
			last = html
		}
		select {
		case <-tick.C:
		case <-v.r.Context().Done():
			return nil, nil //nolint:nilnil // it has answered
		case <-v.ctx.Done():
			return nil, nil //nolint:nilnil // it has answered
		}
		if time.Since(admitted) < admitEvery {
			continue
		}
		if _, err := v.visitor(v.r); errors.Is(err, operator.ErrUnauthorized) || !send(": heartbeat\n\n") {
			break
		}
		admitted = time.Now()
	}
	return nil, nil //nolint:nilnil // it has answered
}

// event is HTML as an event, whose data has a field for each line.
func event(html string) string {
	return fmt.Sprintf("event: figures\ndata: %s\n\n", strings.ReplaceAll(html, "\n", "\ndata: "))
}
