package console

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"campaignd/internal/operator"
)

const (
	// readEvery is how often the figures of a watched run are read: at each whole second. A page
	// without a stream shows figures that are at most as old.
	readEvery = time.Second
	// sendEvery and sendPlaces spread the streams over the first half of a second, so that many do not
	// take the processors from sending at one instant: 200 events are 4 in 10 ms.
	sendEvery, sendPlaces = 10 * time.Millisecond, 50
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
	whole bool    // the view has its plots and limits, and event has the view
	event []byte  // for all who watch; nobody changes it
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

// join counts a stream, unless there are too many, and returns its place in each second.
func (w *watch) join() (place time.Duration, joined bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams >= mostStreams {
		return 0, false
	}
	w.streams++
	return time.Duration(w.streams%sendPlaces) * sendEvery, true
}

// leave ends a stream.
func (w *watch) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams--
}

// figures returns the figures of a run for the company of the visitor; they are at most a second
// old. If they are whole, they have plots and limits.
func (v *visit) figures(run string, whole bool) (runView, error) {
	view, _, err := v.figuresSince(run, whole, time.Now().Add(-readEvery))
	return view, err
}

// figuresSince returns figures that were read at since or later. If they are whole, the event has
// what the view has.
func (v *visit) figuresSince(run string, whole bool, since time.Time) (runView, []byte, error) {
	return v.watch.of(watched{run, v.who.Company}, time.Now()).read(v, run, whole, since)
}

func (f *figures) read(v *visit, run string, whole bool, since time.Time) (runView, []byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at.Before(since) {
		f.at, f.whole, f.event = time.Now(), false, nil
		f.view, f.err = v.runView(v.ctx, run)
	}
	if f.whole || !whole || f.err != nil {
		return f.view, f.event, f.err
	}
	var b bytes.Buffer
	if f.err = v.complete(v.ctx, &f.view); f.err == nil {
		f.err = v.pages["run"].ExecuteTemplate(&b, "figures", f.view)
	}
	f.whole, f.event = true, eventOf(bytes.Map(shown, b.Bytes()))
	return f.view, f.event, f.err
}

// live streams the figures of a run until the browser leaves, the session ends or the process
// stops. A fault of the ledger is waited out.
func live(v *visit) (any, error) {
	run, err := v.d.Run(v.r.Context(), v.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	place, joined := v.watch.join()
	if !joined {
		return nil, &problem{http.StatusServiceUnavailable, "Too many pages are open. Load this one again to see new figures."}
	}
	defer v.watch.leave()
	c := http.NewResponseController(v.w)
	if err := c.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.Header().Set("X-Accel-Buffering", "no") // a proxy that buffers would delay the figures
	if v.r.ProtoMajor == 1 {
		v.w.Header().Set("Transfer-Encoding", "identity") // an event is one write; in chunks it would be three
	}
	send := func(text []byte) bool {
		if err := c.SetWriteDeadline(time.Now().Add(slowest)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return false
		}
		_, err := v.w.Write(text)
		return err == nil && c.Flush() == nil
	}
	if !send([]byte("retry: 2000\n\n")) {
		return nil, nil //nolint:nilnil // it has answered
	}
	since, admitted, last := time.Now().Add(-readEvery), time.Now(), []byte(nil)
	for {
		_, event, err := v.figuresSince(run.ID, true, since)
		if err == nil && !bytes.Equal(event, last) {
			if !send(event) {
				break
			}
			last = event
		}
		since = time.Now().Add(readEvery - place).Truncate(readEvery)
		select {
		case <-time.After(time.Until(since.Add(place))):
		case <-v.r.Context().Done():
			return nil, nil //nolint:nilnil // it has answered
		case <-v.ctx.Done():
			return nil, nil //nolint:nilnil // it has answered
		}
		if time.Since(admitted) < admitEvery {
			continue
		}
		if _, err := v.visitor(v.r); errors.Is(err, operator.ErrUnauthorized) || !send([]byte(": heartbeat\n\n")) {
			break
		}
		admitted = time.Now()
	}
	return nil, nil //nolint:nilnil // it has answered
}

// eventOf is HTML as an event, whose data has a field for each line.
func eventOf(html []byte) []byte {
	return slices.Concat([]byte("event: figures\ndata: "), bytes.ReplaceAll(html, []byte("\n"), []byte("\ndata: ")), []byte("\n\n"))
}
