package service

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/messaging"
)

// pipes is a server behind pipes: it serves the connections that its dial makes.
type pipes struct {
	conns chan net.Conn
	dials atomic.Int64
	took  time.Duration // by each dial
	last  net.Conn      // the server's end of the one that was made last
}

func (p *pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p *pipes) Close() error   { close(p.conns); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	p.dials.Add(1)
	time.Sleep(p.took)
	near, far := net.Pipe()
	p.last = far
	p.conns <- far
	return near, nil
}

// A message that is late when its connection is there, or when its note is written, is not written.
// The next message uses that connection.
func TestALateMessageIsNotSentAndKeepsItsConnection(t *testing.T) {
	for _, stall := range []time.Duration{300 * time.Millisecond, 500 * time.Millisecond, 3 * time.Second} {
		for _, where := range []string{"dialler", "pool", "note"} {
			synctest.Test(t, func(t *testing.T) {
				p := &pipes{conns: make(chan net.Conn)}
				var requests atomic.Int64
				answer := time.Duration(0)
				server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					requests.Add(1)
					time.Sleep(answer)
					_, _ = io.WriteString(w, receiptText)
				})}
				served := make(chan error)
				go func() { served <- server.Serve(p) }()
				c, err := New(Options{BaseURL: "http://127.0.0.1", APIKey: messaging.NewSecret("key_1"), Dial: p.dial, MaxInFlight: 1})
				if err != nil {
					t.Fatal(err)
				}
				m := *hello
				before, first := int64(0), make(chan error, 1)
				switch where {
				case "dialler":
					p.took = stall
				case "pool":
					answer, before = stall, 1
					go func() { _, err := c.Send(t.Context(), hello); first <- err }()
					synctest.Wait()
				case "note":
					m.Before = func() error { time.Sleep(stall); return nil }
				}
				m.Until = time.Now().Add(stall - time.Millisecond)
				_, err = c.Send(t.Context(), &m)
				var e *messaging.Error
				if !errors.Is(err, messaging.ErrLate) || !errors.As(err, &e) || e.Proof != messaging.NotSent {
					t.Errorf("%s stands still for %v: got %v, want %v, not sent", where, stall, err, messaging.ErrLate)
				}
				if requests.Load() != before {
					t.Errorf("%s stands still for %v: got %d requests, want %d", where, stall, requests.Load(), before)
				}
				m.Before, m.Until = nil, time.Now().Add(time.Millisecond)
				if _, err := c.Send(t.Context(), &m); err != nil || p.dials.Load() != 1 {
					t.Errorf("%s stood still for %v: then got %v and %d connections, want no error and 1", where, stall, err, p.dials.Load())
				}
				if where == "pool" {
					if err := <-first; err != nil {
						t.Errorf("the message in front: got %v, want no error", err)
					}
				}
				c.Close()
				server.Close()
				<-served
			})
		}
	}
}

// A connection that its peer has closed, or that was idle for long, is not used again.
func TestOnlyLiveConnectionsAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn, 1)}
		var open atomic.Int64 // connections
		server := http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, receiptText) }),
			ConnState: func(_ net.Conn, s http.ConnState) {
				switch s {
				case http.StateNew:
					open.Add(1)
				case http.StateClosed:
					open.Add(-1)
				}
			},
		}
		served := make(chan error)
		go func() { served <- server.Serve(p) }()
		c, err := New(Options{BaseURL: "http://127.0.0.1", APIKey: messaging.NewSecret("key_1"), Dial: p.dial, IdleTimeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range []struct {
			wait   time.Duration
			closes bool // the peer
			dials  int64
		}{{0, false, 1}, {9 * time.Second, false, 1}, {11 * time.Second, false, 2}, {time.Second, true, 3}} {
			if step.closes {
				p.last.Close()
			}
			time.Sleep(step.wait)
			if err := c.Warm(t.Context()); err != nil || p.dials.Load() != step.dials {
				t.Errorf("step %d, warm: got %v and %d connections, want no error and %d", i, err, p.dials.Load(), step.dials)
			}
			if _, err := c.Send(t.Context(), hello); err != nil || p.dials.Load() != step.dials {
				t.Errorf("step %d: got %v and %d connections, want no error and %d", i, err, p.dials.Load(), step.dials)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := open.Load(); n != 0 {
			t.Errorf("after a minute %d connections are open, want 0", n)
		}
		c.Close()
		server.Close()
		<-served
	})
}
