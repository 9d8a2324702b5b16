package api

import (
	"bytes"
	"context"
	"errors"
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
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
)

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
	d := session(t)
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
			feed := newFeed((&scene{now: snapshot{}}).poll, slog.New(slog.DiscardHandler))
			keys := &oneKey{key: stored}
			s := &Server{feed: feed, process: operator.Process{Guard: operator.NewGuard("", keys)}, ctx: ctx}
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
		for deadline := time.Now().Add(4 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
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
		wait("a new client", `{"reason":"new"}`, `"id":"spring-1"`, `{"run":"spring-1","rows":40,"left":40,"totals":{`, "event: drop",
			"event: ready")
		if got := w.ask(t, "POST", "/api/v1/runs/1/pause", "operate", ""); got.Code != 200 {
			t.Fatalf("pause: got %d %s, want 200", got.Code, got.Body)
		}
		wait("a pause", `"wanted":"pause"`)
		hold := resource.HoldRequest{Scope: campaign.HoldConnection, ID: "conn_2", Reason: "check"}
		if _, err := w.session.AddHold(t.Context(), hold); err != nil {
			t.Fatal(err)
		}
		wait("a hold", "event: hold\n", `"id":"conn_2"`)
		if _, err := w.session.LiftHolds(t.Context(), resource.LiftRequest{Scope: campaign.HoldConnection, ID: "conn_2"}); err != nil {
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
	position := w.feed.at("", "comp_2")
	defer w.feed.leave()
	w.feed.mu.Lock()
	text := string(w.feed.state(position))
	w.feed.mu.Unlock()
	if strings.Contains(text, "spring-1\"") || !strings.Contains(text, "spring-2\"") {
		t.Errorf("got %s, want spring-2 alone", text)
	}
}
