//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/messaging"
	wire "campaignd/internal/messaging/service"
)

// The verifier and the decoder of campaignd accept the webhooks of the sink. Each status of each
// message is accepted once, although one POST in three is refused.
func TestTheSinkSendsEveryStatusOnceAndSigned(t *testing.T) {
	for _, batch := range []int{silence, 1, 64} {
		t.Run(fmt.Sprintf("by %d", batch), func(t *testing.T) {
			const messages = 200
			verifier, err := messaging.NewVerifier(messaging.SignatureForm{}, messaging.NewSecret(secret))
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			posts, got := 0, map[string]int{}
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				if _, err := verifier.Verify(r.Header, body, time.Now()); err != nil {
					t.Error(err)
				}
				events, err := wire.DecodeEvents(body)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if posts++; posts%3 == 0 {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				for _, e := range events {
					got[fmt.Sprint(e.MessageID, e.Connection, e.Recipient, e.Status)]++
				}
				w.WriteHeader(http.StatusNoContent)
			}))
			defer receiver.Close()
			s := &sink{job: sinkJob{Batch: batch}}
			service := httptest.NewServer(s.handler())
			defer service.Close()
			if err := register(t.Context(), service.URL, receiver.URL+"/hook"); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			var posting sync.WaitGroup
			posting.Go(func() { s.post(ctx) })
			if err := (bareJob{Sink: service.URL, Messages: messages, Workers: 4}).post(t.Context(), new(atomic.Int64)); err != nil {
				t.Fatal(err)
			}
			b := &bench{ctx: t.Context(), deadline: time.Minute}
			if err := b.await(service.URL, messages, stagesOf(batch)); err != nil {
				t.Fatal(err)
			}
			stop()
			posting.Wait()
			if len(got) != messages*stagesOf(batch) {
				t.Errorf("got %d statuses, want %d", len(got), messages*stagesOf(batch))
			}
			for n := range maps.Values(got) {
				if n != 1 {
					t.Errorf("got a status %d times, want once", n)
				}
			}
			f, err := readFigures(t.Context(), service.URL)
			if err != nil {
				t.Fatal(err)
			}
			if f.Accepted != messages || f.Acked != messages*int64(stagesOf(batch)) || (f.Refused > 0) == (batch == silence) {
				t.Errorf("got the figures %+v, want every message and status, and refused POSTs", f)
			}
		})
	}
}
