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

	"campaignd/internal/client/resource"
)

// entry is one object of the state: a run, its progress, a hold, a firing or a drop.
type entry struct {
	event   string // the event of its changes: resource.EventRun and others
	gone    string // the event of its end; "": it ends without one
	company string // keys of this company may see it; "": only keys of all companies
	data    []byte // JSON
}

// snapshot is the state by key. The events of one poll have the order of the keys.
type snapshot map[string]entry

// change is one event.
type change struct {
	seq     int64
	company string
	text    []byte // as it is sent
}

// The limits of the feed.
const (
	pollEvery = time.Second
	// pollShare limits the cost of polling: after a poll of 30 ms the next one waits 1.2 s.
	pollShare = 40
	// maxEvents is the number of events kept for clients that connect again or are slow.
	maxEvents = 4096
)

// feed polls the ledger and makes an event of each change. All clients share the polls and the
// events: a client has a position in the events, and no buffer of its own. While no client listens
// there are no polls. The first poll after that makes the events of all changes since the last one.
type feed struct {
	poll  func(context.Context) (snapshot, error)
	log   *slog.Logger
	epoch string // begins the ids of this process, because another process does not have its events

	listeners atomic.Int64
	begin     chan struct{} // a client has come

	mu     sync.Mutex
	now    snapshot // nil before the first poll
	polled time.Time
	events []change
	last   int64         // the number of the newest event
	again  chan struct{} // closed with the next poll
}

func newFeed(poll func(context.Context) (snapshot, error), log *slog.Logger) *feed {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // it never fails
	return &feed{poll: poll, log: log, epoch: hex.EncodeToString(b), begin: make(chan struct{}, 1), again: make(chan struct{})}
}

// run polls while a client listens, until ctx ends.
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
		now, err := f.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failed = ""
			f.update(now, begun)
		case failed != err.Error():
			failed = err.Error()
			f.log.Warn("events cannot be read; they are tried again", "err", err)
		}
		t := time.NewTimer(max(pollEvery, pollShare*time.Since(begun)))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// update replaces the snapshot and makes an event of each difference. The first snapshot makes
// none.
func (f *feed) update(now snapshot, at time.Time) {
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
	f.now, f.polled = now, at
	close(f.again)
	f.again = make(chan struct{})
}

// add adds an event. The caller has the lock.
func (f *feed) add(e entry, event string) {
	f.last++
	f.events = append(f.events, change{f.last, e.company, eventText(event, f.id(f.last), e.data)})
	if len(f.events) >= 2*maxEvents {
		f.events = slices.Clone(f.events[len(f.events)-maxEvents:])
	}
}

// eventText is an event in the format of server-sent events
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
	seq     int64 // the client has all events up to this one
	reset   string
	since   time.Time // the snapshot for the client must not be older
}

// at returns the position of a client whose last event was id; "" for a new client.
func (f *feed) at(id, company string) *position {
	f.listeners.Add(1)
	select {
	case f.begin <- struct{}{}:
	default:
	}
	p := &position{company: company, since: time.Now().Add(-pollEvery)}
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

// has reports whether all events after seq are kept. The caller has the lock.
func (f *feed) has(seq int64) bool {
	return seq >= f.last || len(f.events) > 0 && f.events[0].seq <= seq+1
}

// next returns the events that the client does not have, and a channel that is closed when there
// may be more. slow means that some of them are not kept any more.
func (f *feed) next(p *position) (text []byte, more <-chan struct{}, slow bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.reset != "" {
		if f.polled.Before(p.since) {
			return nil, f.again, false
		}
		return f.state(p), f.again, false
	}
	if !f.has(p.seq) {
		return nil, nil, true
	}
	from, _ := slices.BinarySearchFunc(f.events, p.seq+1, func(e change, seq int64) int { return cmp.Compare(e.seq, seq) })
	for _, e := range f.events[from:] {
		if p.company == "" || e.company == p.company {
			text = append(text, e.text...)
		}
	}
	p.seq = f.last
	return text, f.again, false
}

// state returns the whole snapshot as events. They have no id, so that a client that loses the
// connection before the last of them gets all of them again. The caller has the lock.
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
