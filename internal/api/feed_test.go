package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/client"
)

// scene is the state that a feed looks at.
type scene struct {
	mu    sync.Mutex
	now   picture
	err   error
	looks int
}

func (s *scene) look(context.Context) (picture, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	out := picture{}
	for k, e := range s.now {
		out[k] = e
	}
	return out, s.err
}

// set changes a thing of the state; data "" removes it.
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
		s := &scene{now: picture{}}
		f := newFeed(s.look, slog.New(slog.DiscardHandler))
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

// wants checks what a client is sent next: the last words of each event, in one line.
func (f *feed) wants(t *testing.T, what string, p *place, want string) {
	t.Helper()
	time.Sleep(2*lookEvery + time.Millisecond)
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
		for i := range 3 * mostEvents {
			f.add(entry{event: "run", data: fmt.Append(nil, i)}, "run")
		}
		kept := len(f.events)
		f.mu.Unlock()
		if kept < mostEvents || kept > 2*mostEvents {
			t.Errorf("got %d events kept, want %d to %d", kept, mostEvents, 2*mostEvents)
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

// stream is the connection of a client that reads all.
type stream struct {
	mu     sync.Mutex
	header http.Header
	text   bytes.Buffer
	fault  error // of writes
}

func (s *stream) Header() http.Header { return s.header }
func (s *stream) WriteHeader(int)     {}
func (s *stream) Flush()              {}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != nil {
		return 0, s.fault
	}
	return s.text.Write(p)
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// oneKey is a keyring whose key may be revoked.
type oneKey struct {
	key     campaign.OperatorKey
	revoked atomic.Bool
}

func (o *oneKey) Key(context.Context, string) (campaign.OperatorKey, error) {
	if o.revoked.Load() {
		return campaign.OperatorKey{}, campaign.ErrNoKey
	}
	return o.key, nil
}

func TestAStreamEndsWithItsKey(t *testing.T) {
	d := desk(t)
	k, err := d.CreateKey(t.Context(), "ci", "read", "", "")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := d.Ledger.Key(t.Context(), k.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"revoked", "stopped", "slow"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			feed := newFeed((&scene{now: picture{}}).look, slog.New(slog.DiscardHandler))
			keys := &oneKey{key: stored}
			s := &Server{feed: feed, guard: newGuard("", keys), ctx: ctx}
			r := httptest.NewRequest(http.MethodGet, "/api/v1/events", nil).WithContext(t.Context())
			r.Header.Set("Authorization", "Bearer "+k.Secret)
			w := &stream{header: http.Header{}}
			var looking sync.WaitGroup
			looking.Go(func() { feed.run(ctx) })
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				s.follow(r, w, "")
			}()
			time.Sleep(10*heartbeat + time.Second)
			if got := strings.Count(w.String(), ": heartbeat"); got != 10 {
				t.Errorf("%s: got %d heartbeats, want 10", how, got)
			}
			select {
			case <-ended:
				t.Errorf("%s: the stream ended before, want it to go on", how)
			default:
			}
			synctest.Wait()
			switch how {
			case "revoked":
				keys.revoked.Store(true)
			case "stopped":
				stop()
			case "slow":
				w.mu.Lock()
				w.fault = errors.New("i/o timeout")
				w.mu.Unlock()
			}
			time.Sleep(2 * heartbeat)
			synctest.Wait()
			select {
			case <-ended:
			default:
				t.Errorf("%s: the stream goes on after %v, want its end", how, 2*heartbeat)
			}
			if n := feed.listeners.Load(); n != 0 {
				t.Errorf("%s: got %d listeners, want 0", how, n)
			}
			stop()
			<-ended
			looking.Wait()
		})
	}
}

// listen reads the stream of events of a served world until do is done.
func (w *world) listen(t *testing.T, key string, do func(wait func(what string, has ...string))) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { w.Run(ctx) })
	r := httptest.NewRequest(http.MethodGet, "/api/v1/events", nil).WithContext(ctx)
	r.Header.Set("Authorization", "Bearer "+w.keys[key])
	out := &stream{header: http.Header{}}
	running.Go(func() { w.ServeHTTP(out, r) })
	do(func(what string, has ...string) {
		t.Helper()
		missing := ""
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			missing = ""
			for _, h := range has {
				if !strings.Contains(out.String(), h) {
					missing = h
				}
			}
			if missing == "" {
				return
			}
		}
		t.Fatalf("%s: got %s, want %s in it", what, out, missing)
	})
}

func TestActionsOfOthersComeAsEvents(t *testing.T) {
	w := newWorld(t)
	w.listen(t, "read", func(wait func(string, ...string)) {
		wait("a new client", `{"reason":"new"}`, `"id":"spring-1"`, `{"run":"spring-1","rows":40,"left":40}`, "event: drop", "event: ready")
		if got := w.ask(t, "POST", "/api/v1/runs/1/pause", "operate", ""); got.Code != 200 {
			t.Fatalf("pause: got %d %s, want 200", got.Code, got.Body)
		}
		wait("a pause", `"wanted":"pause"`)
		if _, err := w.desk.AddHold(t.Context(), client.HoldRequest{Scope: campaign.HoldConnection, ID: "conn_2", Reason: "check"}); err != nil {
			t.Fatal(err)
		}
		wait("a hold", "event: hold\n", `"id":"conn_2"`)
		if _, err := w.desk.LiftHolds(t.Context(), client.LiftRequest{Scope: campaign.HoldConnection, ID: "conn_2"}); err != nil {
			t.Fatal(err)
		}
		wait("its end", "event: hold.lifted\n")
	})
}

func TestEventsOfOtherCompaniesAreNotTold(t *testing.T) {
	w := newWorld(t)
	w.listen(t, "other", func(wait func(string, ...string)) {
		wait("a new client", `"id":"spring-2"`, "event: ready")
		for _, id := range []string{"1", "2"} {
			if got := w.ask(t, "POST", "/api/v1/runs/"+id+"/pause", "operate", ""); got.Code != 200 {
				t.Fatalf("pause %s: got %d %s, want 200", id, got.Code, got.Body)
			}
		}
		wait("its pause", `"wanted":"pause"`)
	})
	place := w.feed.at("", "comp_2")
	defer w.feed.leave()
	w.feed.mu.Lock()
	text := string(w.feed.state(place))
	w.feed.mu.Unlock()
	if strings.Contains(text, "spring-1\"") || !strings.Contains(text, "spring-2\"") {
		t.Errorf("got %s, want spring-2 alone", text)
	}
}
