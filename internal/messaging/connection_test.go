package messaging

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// After bar has returned true, a goroutine of the transport that wakes up late cannot write.
func TestABarredWireStaysSilent(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	w := &wire{Conn: near}
	w.arm(time.Time{})
	if !w.bar() {
		t.Fatal("bar() = false of a wire that wrote nothing, want true")
	}
	if _, err := w.Write([]byte("POST")); !errors.Is(err, errBarred) {
		t.Fatalf("a write after bar: %v, want %v", err, errBarred)
	}
	w.arm(time.Time{})
	if _, err := w.Write([]byte("POST")); !errors.Is(err, errBarred) {
		t.Fatalf("a write after arming a barred wire: %v, want %v", err, errBarred)
	}
	near2, far2 := net.Pipe()
	w = &wire{Conn: near2}
	go io.Copy(io.Discard, far2)
	w.arm(time.Time{})
	w.Write([]byte("P"))
	if w.bar() {
		t.Error("bar() = true of a wire that wrote a byte, want false")
	}
	far2.Close()
	near3, far3 := net.Pipe()
	far3.Close()
	w = &wire{Conn: near3}
	w.arm(time.Time{})
	if _, err := w.Write([]byte("P")); err == nil || !w.bar() {
		t.Errorf("a peer that had closed: %v, barred = %t; want an error and true", err, w.bar())
	}
}

// halfway writes n bytes of each Write and then fails.
type halfway struct {
	net.Conn
	n int
}

func (h *halfway) Write(p []byte) (int, error) { return min(h.n, len(p)), io.ErrClosedPipe }

// A write that fails counts if it wrote a byte. Only a first write of no byte leaves the wire
// unwritten.
func TestAFailedWriteCountsWhatItTook(t *testing.T) {
	conn := &halfway{n: 3}
	w := &wire{Conn: conn}
	w.arm(time.Time{})
	if n, err := w.Write([]byte("POST")); n != 3 || err == nil {
		t.Fatalf("wrote %d, %v; want 3 and an error", n, err)
	}
	if got, want := w.bar(), false; got != want {
		t.Errorf("bar() = %t after 3 bytes, want %t", got, want)
	}
	conn.n = 0
	if _, err := w.Write([]byte("POST")); err == nil {
		t.Fatal("got no error of the second write, want one")
	}
	if got, want := w.bar(), false; got != want {
		t.Errorf("bar() = %t after 3 bytes and none, want %t", got, want)
	}
	w = &wire{Conn: conn}
	w.arm(time.Time{})
	if _, err := w.Write([]byte("POST")); err == nil {
		t.Fatal("got no error of the write, want one")
	}
	if got, want := w.bar(), true; got != want {
		t.Errorf("bar() = %t after no byte, want %t", got, want)
	}
}

// The server closes kept connections after it has processed a request. In this case net/http
// repeats a request that it takes for idempotent.
func TestOneSendIsAtMostOneRequestOnReusedConnections(t *testing.T) {
	var processed atomic.Int32
	url := rawServer(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for n := 0; takeRequest(r) == nil; n++ {
			processed.Add(1)
			if n == 1 {
				return // the second request of a connection gets no answer
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: "+itoa(len(receiptText))+"\r\n\r\n"+receiptText)
		}
	})
	c := testClient(t, url, Options{})
	accepted, doubts := 0, 0
	const sends = 40
	for range sends {
		_, err := c.Send(context.Background(), hello)
		var e *Error
		switch {
		case err == nil:
			accepted++
		case errors.As(err, &e) && e.Proof == Doubt:
			doubts++
		default:
			t.Fatal(err)
		}
	}
	if processed.Load() != sends || accepted != sends/2 || doubts != sends/2 {
		t.Errorf("%d accepted, %d in doubt, %d processed by the server; want %d, %d and %d",
			accepted, doubts, processed.Load(), sends/2, sends/2, sends)
	}
}

// The server closes the kept connection before the next request. In either order, a message that
// is called not sent was not processed, and no message is processed twice.
func TestAStaleConnectionGivesNoFalseProof(t *testing.T) {
	var processed atomic.Int32
	url := rawServer(t, func(c net.Conn) {
		if takeRequest(bufio.NewReader(c)) == nil {
			processed.Add(1)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: "+itoa(len(receiptText))+"\r\n\r\n"+receiptText)
		}
	})
	c := testClient(t, url, Options{})
	accepted, doubts := int32(0), int32(0)
	for range 300 {
		_, err := c.Send(context.Background(), hello)
		var e *Error
		switch {
		case err == nil:
			accepted++
		case errors.As(err, &e) && e.Proof == Doubt:
			doubts++
		}
	}
	if n := processed.Load(); n < accepted || n > accepted+doubts {
		t.Errorf("processed %d, want from %d accepted to %d more in doubt", n, accepted, doubts)
	}
}

func itoa(n int) string {
	b := []byte{}
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}
