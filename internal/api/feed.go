package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/client/resource"
)

// entry is one thing in the state that events tell, as it is now.
type entry struct {
	event   string // resource.EventRun, ...
	gone    string // the event of its end; "": it ends without one
	company string // whose keys see it beside those of all companies; "": none
	data    []byte // JSON
}

// picture is the state by key. Events of one look come in the order of their keys.
type picture map[string]entry

// happened is one event.
type happened struct {
	seq     int64
	company string
	text    []byte // as it is sent
}

// The bounds of the feed.
const (
	lookEvery = time.Second
	// lookShare bounds what looking costs: after a look of 30 ms the next one waits 1.2 s.
	lookShare = 40
	// mostEvents is how many events are kept for clients that come again or are slow.
	mostEvents = 4096
)

// feed looks at the ledger and tells what has changed. All clients share one look, and only the
// events: each has a position in them, and none has a buffer of its own. While no client listens
// nobody looks; the next look then tells what has changed in the meantime.
type feed struct {
	look  func(context.Context) (picture, error)
	log   *slog.Logger
	epoch string // begins the ids: another process knows nothing of them

	listeners atomic.Int64
	begin     chan struct{} // a client came

	mu     sync.Mutex
	now    picture // nil before the first look
	looked time.Time
	events []happened
	last   int64         // the number of the newest event
	again  chan struct{} // closed with the next look
}

func newFeed(look func(context.Context) (picture, error), log *slog.Logger) *feed {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // it never fails
	return &feed{look: look, log: log, epoch: hex.EncodeToString(b), begin: make(chan struct{}, 1), again: make(chan struct{})}
}

// run looks while a client listens, until ctx ends.
func (f *feed) run(ctx context.Context) {
	failed := ""
	for {
		if f.listeners.Load() == 0 {
			select {
			case <-ctx.Done():
				return
			case <-f.begin:
				continue
			}
		}
		begun := time.Now()
		now, err := f.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failed = ""
			f.tell(now, begun)
		case failed != err.Error():
			failed = err.Error()
			f.log.Warn("events cannot be read; they are tried again", "err", err)
		}
		t := time.NewTimer(max(lookEvery, lookShare*time.Since(begun)))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// tell takes a new picture, and makes an event of each difference. The first one makes none.
func (f *feed) tell(now picture, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now != nil {
		for _, k := range slices.Sorted(maps.Keys(now)) {
			if was, ok := f.now[k]; !ok || !bytes.Equal(was.data, now[k].data) {
				f.add(now[k], now[k].event)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(f.now)) {
			if was := f.now[k]; was.gone != "" {
				if _, ok := now[k]; !ok {
					f.add(was, was.gone)
				}
			}
		}
	}
	f.now, f.looked = now, at
	close(f.again)
	f.again = make(chan struct{})
}

// add adds an event. The caller has the lock.
func (f *feed) add(e entry, event string) {
	f.last++
	f.events = append(f.events, happened{f.last, e.company, eventText(event, f.id(f.last), e.data)})
	if len(f.events) >= 2*mostEvents {
		f.events = slices.Clone(f.events[len(f.events)-mostEvents:])
	}
}

// eventText is an event as the format of server-sent events has it
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
func eventText(event, id string, data []byte) []byte {
	b := make([]byte, 0, len(data)+len(event)+len(id)+32)
	if id != "" {
		b = append(append(append(b, "id: "...), id...), '\n')
	}
	b = append(append(append(b, "event: "...), event...), '\n')
	b = append(append(b, "data: "...), data...) // JSON has no line break
	return append(b, "\n\n"...)
}

func (f *feed) id(seq int64) string { return f.epoch + "-" + strconv.FormatInt(seq, 10) }

// position is how far a client has read the events.
type position struct {
	company string
	seq     int64 // it has all up to this one
	reset   string
	since   time.Time // a picture that is told is not older
}

// at returns the position of a client that saw the event id last; "": it is new.
func (f *feed) at(id, company string) *position {
	f.listeners.Add(1)
	select {
	case f.begin <- struct{}{}:
	default:
	}
	p := &position{company: company, since: time.Now().Add(-lookEvery)}
	epoch, number, _ := strings.Cut(id, "-")
	seq, err := strconv.ParseInt(number, 10, 64)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case id == "":
		p.reset = "new"
	case epoch != f.epoch || err != nil || seq > f.last:
		p.reset = "unknown_id" // of a process before this one, or of another replica
	case !f.has(seq):
		p.reset = "too_old"
	default:
		p.seq = seq
	}
	return p
}

// leave ends the position of a client.
func (f *feed) leave() { f.listeners.Add(-1) }

// has reports whether all events behind seq are kept. The caller has the lock.
func (f *feed) has(seq int64) bool {
	return seq >= f.last || len(f.events) > 0 && f.events[0].seq <= seq+1
}

// next returns what a client has not been sent, and what is closed when there may be more. slow
// means that events it has not seen are gone.
func (f *feed) next(p *position) (text []byte, more <-chan struct{}, slow bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.reset != "" {
		if f.looked.Before(p.since) {
			return nil, f.again, false
		}
		return f.state(p), f.again, false
	}
	if !f.has(p.seq) {
		return nil, nil, true
	}
	from, _ := slices.BinarySearchFunc(f.events, p.seq+1, func(e happened, seq int64) int { return cmp.Compare(e.seq, seq) })
	for _, e := range f.events[from:] {
		if p.company == "" || e.company == p.company {
			text = append(text, e.text...)
		}
	}
	p.seq = f.last
	return text, f.again, false
}

// state tells the whole picture. Its events have no id: a client that loses the connection amid it
// gets it again. The caller has the lock.
func (f *feed) state(p *position) []byte {
	text := eventText(resource.EventReset, "", []byte(`{"reason":"`+p.reset+`"}`))
	for _, k := range slices.Sorted(maps.Keys(f.now)) {
		if e := f.now[k]; p.company == "" || e.company == p.company {
			text = append(text, eventText(e.event, "", e.data)...)
		}
	}
	p.reset, p.seq = "", f.last
	return append(text, eventText(resource.EventReady, f.id(f.last), []byte("{}"))...)
}
