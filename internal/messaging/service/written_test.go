package service

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/messaging"
)

// A sender learns when its request was written: after the connection was made, before the answer.
func TestTheInstantOfTheLastByteIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), took: 100 * time.Millisecond}
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(50 * time.Millisecond)
			_, _ = io.WriteString(w, receiptText)
		})}
		served := make(chan error)
		go func() { served <- server.Serve(p) }()
		c, err := New(Options{BaseURL: "http://127.0.0.1", APIKey: messaging.NewSecret("key_1"), Dial: p.dial})
		if err != nil {
			t.Fatal(err)
		}
		var written time.Time
		m, began := *hello, time.Now()
		m.Written = &written
		if _, err := c.Send(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
		if at, all := written.Sub(began), time.Since(began); at != p.took || all != p.took+50*time.Millisecond {
			t.Errorf("written after %v of %v, want 100ms of 150ms", at, all)
		}
		written, m.Until = time.Time{}, time.Now().Add(-1)
		if _, err := c.Send(t.Context(), &m); !errors.Is(err, messaging.ErrLate) || !written.IsZero() {
			t.Errorf("a message that is late: %v, written at %v; want %v, never", err, written, messaging.ErrLate)
		}
		c.Close()
		server.Close()
		<-served
	})
}
