package inprocess

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The test covers the behaviour that a client needs to classify an exchange.
func TestTransportBehavesAsNetHTTPDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var processed atomic.Bool
		tr := NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || string(body) != "hello" {
				t.Errorf("the handler read %q, %v; want hello", body, err)
			}
			switch r.URL.Path {
			case "/abort":
				panic(http.ErrAbortHandler)
			case "/half":
				w.Header().Set("X-Half", "1")
				_, _ = io.WriteString(w, "half")
				panic(http.ErrAbortHandler)
			case "/slow":
				time.Sleep(time.Minute)
				processed.Store(true)
			case "/drip":
				_, _ = io.WriteString(w, "a")
				time.Sleep(time.Second)
				_, _ = io.WriteString(w, "b")
			}
		}))
		do := func(ctx context.Context, path string) (*http.Response, error) {
			req, err := http.NewRequestWithContext(ctx, "POST", "http://service.example"+path, strings.NewReader("hello"))
			must(t, err)
			return tr.RoundTrip(req)
		}
		if res, err := do(t.Context(), "/ok"); err != nil || res.StatusCode != 200 {
			t.Errorf("/ok: %v, %v; want 200", res, err)
		}
		if _, err := do(t.Context(), "/abort"); !errors.Is(err, io.EOF) {
			t.Errorf("/abort: %v, want io.EOF", err)
		}
		res, err := do(t.Context(), "/half")
		must(t, err)
		if raw, err := io.ReadAll(res.Body); string(raw) != "half" || !errors.Is(err, io.ErrUnexpectedEOF) || res.Header.Get("X-Half") != "1" {
			t.Errorf("/half: %q, %v; want half and io.ErrUnexpectedEOF", raw, err)
		}
		var wrote bool
		ctx, cancel := context.WithTimeout(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			WroteRequest: func(info httptrace.WroteRequestInfo) { wrote = info.Err == nil },
		}), time.Second)
		defer cancel()
		if _, err := do(ctx, "/slow"); !errors.Is(err, context.DeadlineExceeded) || !wrote {
			t.Errorf("/slow: %v, written %v; want the deadline after the request was written", err, wrote)
		}
		if processed.Load() {
			t.Error("the handler has ended, want it still running")
		}
		tr.Wait()
		if !processed.Load() {
			t.Error("the handler stopped when the client left, want it to go on")
		}
		began := time.Now()
		res, err = do(t.Context(), "/drip")
		must(t, err)
		if since := time.Since(began); since != 0 {
			t.Errorf("the header came after %v, want at once", since)
		}
		if raw, err := io.ReadAll(res.Body); string(raw) != "ab" || err != nil || time.Since(began) != time.Second {
			t.Errorf("/drip: %q, %v after %v; want ab after 1s", raw, err, time.Since(began))
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		res, err = do(ctx, "/drip")
		must(t, err)
		if raw, err := io.ReadAll(res.Body); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("/drip with a deadline: %q, %v; want the deadline", raw, err)
		}
		dead, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := do(dead, "/ok"); !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v, want it canceled", err)
		}
		tr.Wait()
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
