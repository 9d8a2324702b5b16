package messaging

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
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

// On a busy machine the goroutine that writes may get its turn late: the write itself looks once
// more.
func TestTheFirstByteIsNotWrittenLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		go io.Copy(io.Discard, far)
		w := &wire{Conn: near}
		w.arm(time.Now().Add(time.Millisecond))
		if _, err := w.Write([]byte("POST")); err != nil {
			t.Errorf("in time: got %v, want no error", err)
		}
		time.Sleep(2 * time.Millisecond)
		if _, err := w.Write([]byte(" body")); err != nil {
			t.Errorf("the rest of what was begun in time: got %v, want no error", err)
		}
		w.arm(time.Now().Add(time.Millisecond))
		time.Sleep(2 * time.Millisecond)
		if n, err := w.Write([]byte("POST")); n != 0 || !errors.Is(err, ErrLate) || !w.bar() || !w.wasLate() {
			t.Errorf("late: wrote %d, %v, barred %t, late %t; want 0, %v, true and true", n, err, w.bar(), w.wasLate(), ErrLate)
		}
		near.Close()
	})
}
