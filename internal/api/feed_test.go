package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// scene is the state that a feed polls.
type scene struct {
	mu    sync.Mutex
	now   snapshot
	err   error
	looks int
}

func (s *scene) poll(context.Context) (snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	out := snapshot{}
	for k, e := range s.now {
		out[k] = e
	}
	return out, s.err
}

// set changes an entry of the state; data "" removes it.
func (s *scene) set(key, company, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.now, key); data != "" {
		s.now[key] = entry{event: "run", gone: "gone", company: company, data: []byte(data)}
	}
}

// withFeed runs a test beside a running feed.
func withFeed(t *testing.T, do func(t *testing.T, s *scene, f *feed)) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{now: snapshot{}}
		f := newFeed(s.poll, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.run(ctx)
		}()
		do(t, s, f)
		stop()
		<-ended
	})
}

// wants compares the next events of a client: the last words of each, in one line.
func (f *feed) wants(t *testing.T, what string, p *position, want string) {
	t.Helper()
	time.Sleep(2*pollEvery + time.Millisecond)
	synctest.Wait()
	text, _, slow := f.next(p)
	var got []string
	for line := range strings.Lines(string(text)) {
		if kind, ok := strings.CutPrefix(line, "event: "); ok {
			got = append(got, strings.TrimSpace(kind))
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			got = append(got, strings.TrimSpace(data))
		}
	}
	if all := strings.Join(got, " "); all != want || slow {
		t.Errorf("%s: got %q (slow: %v), want %q", what, all, slow, want)
	}
}

func TestEventsTellWhatChangedOnce(t *testing.T) {
	withFeed(t, func(t *testing.T, s *scene, f *feed) {
		s.set("a", "", "1")
		p := f.at("", "")
		defer f.leave()
		f.wants(t, "a new client", p, `reset {"reason":"new"} run 1 ready {}`)
		f.wants(t, "no change", p, "")
		s.set("a", "", "2")
		s.set("b", "", "3")
		f.wants(t, "two changes", p, "run 2 run 3")
		s.set("b", "", "")
		f.wants(t, "an end", p, "gone 3")
	})
}

// While nobody listens there are no polls, so the state of the last one is old.
func TestAClientAfterAPauseGetsTheStateOfNow(t *testing.T) {
	withFeed(t, func(t *testing.T, s *scene, f *feed) {
		s.set("a", "", "1")
		f.wants(t, "a first client", f.at("", ""), `reset {"reason":"new"} run 1 ready {}`)
		f.leave()
		time.Sleep(time.Hour)
		s.set("a", "", "2")
		p := f.at("", "")
		defer f.leave()
		if text, _, _ := f.next(p); len(text) > 0 {
			t.Errorf("before the next poll: got %q, want nothing of an hour ago", text)
		}
		f.wants(t, "a client after a pause", p, `reset {"reason":"new"} run 2 ready {}`)
	})
}

func TestEventsGoOnAfterTheLastId(t *testing.T) {
	withFeed(t, func(t *testing.T, s *scene, f *feed) {
		p := f.at("", "")
		f.wants(t, "a new client", p, `reset {"reason":"new"} ready {}`)
		s.set("a", "", "1")
		f.wants(t, "a change", p, "run 1")
		id := f.id(f.last)
		f.leave() // nobody listens now, and nobody looks
		synctest.Wait()
		s.set("a", "", "2")
		s.set("b", "", "1")
		looks := s.looks
		time.Sleep(time.Hour)
		if s.looks > looks+1 {
			t.Errorf("got %d looks while no client listened, want at most one", s.looks-looks)
		}
		again := f.at(id, "")
		defer f.leave()
		f.wants(t, "the same client again", again, "run 2 run 1")
		for _, tt := range []struct{ id, reason string }{{"other-1", "unknown_id"}, {f.id(f.last + 1), "unknown_id"}, {f.epoch, "unknown_id"},
			{"x", "unknown_id"}, {f.epoch + "-x", "unknown_id"}} {
			p := f.at(tt.id, "")
			f.wants(t, tt.id, p, `reset {"reason":"`+tt.reason+`"} run 2 run 1 ready {}`)
			f.leave()
		}
	})
}

func TestAnIdThatIsTooOldGetsTheState(t *testing.T) {
	withFeed(t, func(t *testing.T, s *scene, f *feed) {
		slow := f.at("", "")
		defer f.leave()
		f.wants(t, "a new client", slow, `reset {"reason":"new"} ready {}`)
		old := f.id(f.last)
		f.mu.Lock()
		for i := range 3 * maxEvents {
			f.add(entry{event: "run", data: fmt.Append(nil, i)}, "run")
		}
		kept := len(f.events)
		f.mu.Unlock()
		if kept < maxEvents || kept > 2*maxEvents {
			t.Errorf("got %d events kept, want %d to %d", kept, maxEvents, 2*maxEvents)
		}
		if _, _, dropped := f.next(slow); !dropped {
			t.Error("a client that is behind all that is kept: got more events, want to be dropped")
		}
		p := f.at(old, "")
		defer f.leave()
		f.wants(t, "its last id", p, `reset {"reason":"too_old"} ready {}`)
	})
}

func TestEventsOfOneCompanyAreForItsKeys(t *testing.T) {
	withFeed(t, func(t *testing.T, s *scene, f *feed) {
		s.set("a", "comp_1", "1")
		s.set("b", "", "2")
		own, other := f.at("", "comp_1"), f.at("", "comp_2")
		defer f.leave()
		defer f.leave()
		f.wants(t, "its own", own, `reset {"reason":"new"} run 1 ready {}`)
		f.wants(t, "of another", other, `reset {"reason":"new"} ready {}`)
		s.set("a", "comp_1", "3")
		s.set("b", "", "4")
		f.wants(t, "its own change", own, "run 3")
		f.wants(t, "a change of another", other, "")
	})
}

func TestEventsGoOnWhenTheLedgerIsBack(t *testing.T) {
	withFeed(t, func(t *testing.T, s *scene, f *feed) {
		s.err = errors.New("away")
		p := f.at("", "")
		defer f.leave()
		f.wants(t, "no ledger", p, "")
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		s.set("a", "", "1")
		f.wants(t, "a ledger", p, `reset {"reason":"new"} run 1 ready {}`)
	})
}
