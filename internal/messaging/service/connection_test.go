package service

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"campaignd/internal/messaging"
)

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
		var e *messaging.Error
		switch {
		case err == nil:
			accepted++
		case errors.As(err, &e) && e.Proof == messaging.Doubt:
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
		var e *messaging.Error
		switch {
		case err == nil:
			accepted++
		case errors.As(err, &e) && e.Proof == messaging.Doubt:
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
