package service

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

// Each answer proves what net/http's own connections let it prove, and a connection is used again
// only if nothing can be left of the answer.
func TestOddAnswersProveNoMoreThanTheyCan(t *testing.T) {
	const accepted = messaging.Proof(255) // no error
	length := fmt.Sprintf("Content-Length: %d\r\n", len(receiptText))
	whole := "HTTP/1.1 200 OK\r\n" + length + "\r\n" + receiptText
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	head := func(n int) string { return "X-Filler: " + strings.Repeat("x", n) + "\r\n" }
	for _, tt := range []struct {
		name, answer string
		proof        messaging.Proof
		code         string
		kept         bool
	}{
		{"plain", whole, accepted, "", true},
		{"100 before it", "HTTP/1.1 100 Continue\r\n\r\n" + whole, accepted, "", true},
		{"103 twice before it", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 2) + whole, accepted, "", true},
		{"1xx without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 10), messaging.Doubt, "reset", false},
		{"101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + whole, messaging.Doubt, "http_101", false},
		{"chunks", chunked + fmt.Sprintf("%x\r\n%s\r\n0\r\nX-End: 1\r\n\r\n", len(receiptText), receiptText),
			accepted, "", true},
		{"a chunk of no size", chunked + "zz\r\n" + receiptText, messaging.DoubtNoID, "accepted_no_id", false},
		{"Connection: close", "HTTP/1.1 200 OK\r\nConnection: close\r\n" + length + "\r\n" + receiptText, accepted, "", false},
		{"no length", "HTTP/1.1 200 OK\r\n\r\n" + receiptText, accepted, "", false},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n" + length + "\r\n" + receiptText, accepted, "", false},
		{"HTTP/1.0 kept", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + length + "\r\n" + receiptText, accepted, "", true},
		{"two lengths", "HTTP/1.1 200 OK\r\n" + length + "Content-Length: 1\r\n\r\n" + receiptText, messaging.Doubt, "reset", false},
		{"a head of 100 kB", "HTTP/1.1 200 OK\r\n" + head(100_000) + length + "\r\n" + receiptText, accepted, "", true},
		{"a head without end", "HTTP/1.1 200 OK\r\n" + head(2<<20) + length + "\r\n" + receiptText, messaging.Doubt, "reset", false},
		{"bytes behind it", whole + "HTTP/1.1 400 Bad Request\r\n\r\n", accepted, "", false},
		{"a line that is no header", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", messaging.Doubt, "reset", false},
		{"another protocol", "ICY 400 OK\r\n\r\n", messaging.Doubt, "bad_answer", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var made, asked atomic.Int64
			url := rawServer(t, func(c net.Conn) {
				answer := whole
				if made.Add(1) == 1 {
					answer = tt.answer
				}
				in := bufio.NewReader(c)
				for takeRequest(in) == nil {
					asked.Add(1)
					if _, err := io.WriteString(c, answer); err != nil || strings.Contains(tt.name, "no length") {
						return
					}
					answer = whole
				}
			})
			c := testClient(t, url, Options{Timeout: 20 * time.Second})
			_, err := c.Send(t.Context(), hello)
			if tt.proof == accepted && err != nil {
				t.Errorf("got %v, want no error", err)
			}
			if tt.proof != accepted {
				if e := asWire(t, err); e.Proof != tt.proof || e.Code != tt.code {
					t.Errorf("got %s, code %s: %v; want %s, %s", fmt.Sprint(e.Proof), e.Code, e, fmt.Sprint(tt.proof), tt.code)
				}
			}
			if _, err := c.Send(t.Context(), hello); err != nil {
				t.Errorf("the next message: got %v, want no error", err)
			}
			want := int64(2)
			if tt.kept {
				want = 1
			}
			if made.Load() != want || asked.Load() != 2 {
				t.Errorf("got %d connections and %d requests, want %d and 2", made.Load(), asked.Load(), want)
			}
		})
	}
}

// An answer that comes over an idle connection belongs to no request, so it must not become the
// answer to the next one.
func TestAnAnswerWithoutARequestIsNobodys(t *testing.T) {
	var made atomic.Int64
	nobodys := make(chan struct{})
	url := rawServer(t, func(c net.Conn) {
		first := made.Add(1) == 1
		in := bufio.NewReader(c)
		for takeRequest(in) == nil {
			if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(receiptText), receiptText); err != nil {
				return
			}
			if first {
				time.Sleep(20 * time.Millisecond) // so that it comes after the answer was read
				_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
				close(nobodys)
				first = false
			}
		}
	})
	c := testClient(t, url, Options{})
	for i := range 2 {
		if _, err := c.Send(t.Context(), hello); err != nil {
			t.Errorf("send %d: got %v, want no error", i, err)
		}
		<-nobodys
		time.Sleep(100 * time.Millisecond) // the client reads it
	}
	if got := made.Load(); got != 2 {
		t.Errorf("got %d connections, want 2: the first one had bytes that nobody asked for", got)
	}
}
