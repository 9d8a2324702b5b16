package service

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

func TestRedirectsAreNeverFollowedAndTheKeyStaysHere(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var leaked atomic.Int32
		target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { leaked.Add(1) }))
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", target.URL+"/api/v1/messages")
			w.WriteHeader(status)
		}))
		c := testClient(t, s.URL, Options{})
		_, err := c.Send(context.Background(), hello)
		if e := asWire(t, err); e.Proof != messaging.NotSent || e.Hold != messaging.HoldKey || !strings.Contains(e.Message, "base_url") {
			t.Errorf("%d: %+v, want not_sent, a hold of the configuration and a word about base_url", status, e)
		}
		if _, err := c.Connections(context.Background()); asWire(t, err).Hold != messaging.HoldKey {
			t.Errorf("%d: %v, want a hold of the configuration", status, err)
		}
		if leaked.Load() != 0 {
			t.Errorf("%d was followed %d times, want never", status, leaked.Load())
		}
		s.Close()
		target.Close()
	}
}

func TestAProvenRefusalIsNoDoubtWhateverItsStatus(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(503)
		io.WriteString(w, `{"error":"queue_full","message":"Not taken."}`)
	}))
	defer s.Close()
	_, err := testClient(t, s.URL, Options{}).Send(context.Background(), hello)
	if e := asWire(t, err); e.Proof != messaging.Doubt || e.Wait != 3*time.Second {
		t.Errorf("got %+v, want a doubt that waits 3s", e)
	}
	_, err = testClient(t, s.URL, Options{ProvenRefusals: []messaging.StatusCode{{Status: 503,
		Code: "queue_full"}}}).Send(context.Background(), hello)
	if e := asWire(t, err); e.Proof != messaging.NotSent || e.Action == 0 {
		t.Errorf("got %+v, want not_sent with an action", e)
	}
	_, err = testClient(t, s.URL, Options{ProvenRefusals: []messaging.StatusCode{{Status: 502,
		Code: "queue_full"}}}).Send(context.Background(), hello)
	if e := asWire(t, err); e.Proof != messaging.Doubt {
		t.Errorf("another pair: %+v, want a doubt", e)
	}
}

func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"data":{"messageId":"`)
		chunk := bytes.Repeat([]byte("a"), 32<<10)
		for range 1000 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	_, err := testClient(t, s.URL, Options{}).Send(context.Background(), hello)
	if e := asWire(t, err); e.Proof != messaging.DoubtNoID {
		t.Errorf("got %+v, want doubt_no_id", e)
	}
}
