package sandbox

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sink is a ResponseWriter that keeps nothing.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }

// BenchmarkPost measures the handler alone: decode, rules, record, plan.
func BenchmarkPost(b *testing.B) {
	s, err := New(Options{WebhookURL: "http://127.0.0.1:9/"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		body := fmt.Sprintf(`{"connectionId":"conn_%d","to":"+2348030%06d","template":{"name":"spring_sale","language":"en_US",`+
			`"body":["Ada","20 %%"],"buttons":[{"type":"url","text":"ada-20"}]}}`, i%4+1, i)
		r := httptest.NewRequest("POST", "/api/v1/messages", strings.NewReader(body))
		r.Header = http.Header{"Authorization": {"Bearer " + DemoKey}, "Content-Type": {"application/json"}, "User-Agent": {"bench/1"}}
		w := &sink{header: http.Header{}}
		s.ServeHTTP(w, r)
		if w.status != 200 {
			b.Fatalf("status = %d, want 200", w.status)
		}
	}
}

// BenchmarkWebhooks measures posting over real sockets to an endpoint in the same process.
func BenchmarkWebhooks(b *testing.B) {
	for name, batch := range map[string]int{"single": 1, "by64": 64} {
		b.Run(name, func(b *testing.B) {
			hooks := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			defer hooks.Close()
			now := Delay{Median: 1}
			s, err := New(Options{WebhookURL: hooks.URL, Events: EventForm{Batch: batch},
				Statuses: StatusProfile{Sent: now, Delivered: now, Read: now}})
			if err != nil {
				b.Fatal(err)
			}
			n := b.N/3 + 1
			fill(b, s, n)
			ctx, cancel := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			b.ResetTimer()
			wg.Go(func() { _ = s.Run(ctx) })
			if err := s.Settle(ctx); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(3*n)/b.Elapsed().Seconds(), "webhooks/s")
			cancel()
			wg.Wait()
		})
	}
}

func fill(tb testing.TB, s *Sandbox, n int) {
	tb.Helper()
	for i := range n {
		r := httptest.NewRequest("POST", "/api/v1/messages",
			strings.NewReader(templateBody("conn_1", fmt.Sprintf("+2348030%06d", i), "newsletter")))
		r.Header = http.Header{"Authorization": {"Bearer " + DemoKey}, "Content-Type": {"application/json"}, "User-Agent": {"bench/1"}}
		w := &sink{header: http.Header{}}
		s.ServeHTTP(w, r)
		if w.status != 200 {
			tb.Fatalf("status = %d, want 200", w.status)
		}
	}
}

// A message takes at most 1,000 bytes, with its truth and its webhooks.
func TestAMessageTakesAKilobyteOfMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes a few seconds")
	}
	s, err := New(Options{WebhookURL: "http://127.0.0.1:9/"})
	must(t, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const n = 20_000
	fill(t, s, n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := float64(after.HeapAlloc-before.HeapAlloc) / n
	t.Logf("%.0f bytes a message with three webhooks pending", each)
	if each > 1000 {
		t.Errorf("%.0f bytes for each message, want at most 1000", each)
	}
	if s.Pending() != 3*n {
		t.Errorf("%d webhooks pending, want %d", s.Pending(), 3*n)
	}
}

// Senders, readers of the truth and changes run at the same time, for the race detector.
func TestConcurrentPostsAndReadersAgree(t *testing.T) {
	var got atomic.Int64
	hooks := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
	defer hooks.Close()
	now := Delay{Median: time.Millisecond}
	s, err := New(Options{WebhookURL: hooks.URL, WebhookWorkers: 8, Statuses: StatusProfile{Sent: now, Delivered: now, Read: now},
		Faults: Faults{Early: 0.2, Doubled: 0.2}})
	must(t, err)
	service := httptest.NewServer(s)
	defer service.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var run, wg sync.WaitGroup
	run.Go(func() { _ = s.Run(ctx) })
	const senders, each = 8, 50
	for g := range senders {
		wg.Go(func() {
			for i := range each {
				req, err := http.NewRequestWithContext(ctx, "POST", service.URL+"/api/v1/messages",
					strings.NewReader(templateBody(fmt.Sprintf("conn_%d", g%4+1), fmt.Sprintf("+23480300%02d%02d", g, i), "newsletter")))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header = http.Header{"Authorization": {"Bearer " + DemoKey}, "Content-Type": {"application/json"}, "User-Agent": {"race/1"}}
				res, err := service.Client().Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_ = res.Body.Close()
				if i%10 == 0 {
					_ = s.Truth()
					if _, err := s.Receive(Inbound{Connection: "conn_1", From: "+23480300000", Text: "hello"}); err != nil {
						t.Error(err)
					}
					_ = s.SetQuality("conn_1", "GREEN")
				}
			}
		})
	}
	wg.Wait()
	must(t, s.Settle(ctx))
	cancel()
	run.Wait()
	truth := s.Truth()
	posts := 0
	for _, m := range truth.Messages {
		if len(m.Statuses) != 3 {
			t.Errorf("statuses of %s = %d, want 3: %+v", m.ID, len(m.Statuses), m)
		}
		for _, st := range m.Statuses {
			posts += st.Posts
			if st.AckedAt.IsZero() {
				t.Errorf("%+v of %+v was never answered 2xx, want it answered", st, m)
			}
		}
	}
	extras := int64(len(s.extras))
	if len(truth.Messages) != senders*each || got.Load() != int64(posts)+extras {
		t.Errorf("%d messages and %d webhooks arrived, want %d and %d",
			len(truth.Messages), got.Load(), senders*each, int64(posts)+extras)
	}
	// The plan posts the copy of a doubled status even if the status itself is posted early.
	if want := int64(3*senders*each) + truth.Fired["webhook_doubled"]; int64(posts) != want {
		t.Errorf("%d status postings, want %d", posts, want)
	}
}
