package webhooks

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/messaging"
)

// Long unsigned bodies of one address fill its share of the memory, and not that of others.
func TestOneAddressTakesNotAllMemory(t *testing.T) {
	i := newIntake(t, &memory{}, Options{})
	stop := start(t, i)
	defer stop()
	for n := range 20 { // 4 MiB each, of 64
		b := body{from: &i.bodies, address: "10.0.0.1", bytes: make([]byte, 0, smallBody)}
		for int64(cap(b.bytes)) <= messaging.MaxBody/2 && i.bodies.grow(&b) {
		}
		if n == 19 && i.bodies.of["10.0.0.1"] > i.bodies.max/4 {
			t.Errorf("got %d bytes of one address, want at most %d", i.bodies.of["10.0.0.1"], i.bodies.max/4)
		}
	}
	long := "[" + strings.Repeat(" ", 100_000) + strings.TrimSpace(status(1, "sent", time.Now())) + "]"
	r := request(long, secretText)
	r.RemoteAddr = "192.0.2.1:1"
	w := httptest.NewRecorder()
	if i.ServeHTTP(w, r); w.Code != http.StatusNoContent {
		t.Errorf("a signed body of another address: got %d, want 204", w.Code)
	}
	r = request(long, secretText)
	r.RemoteAddr = "10.0.0.1:1"
	w = httptest.NewRecorder()
	if i.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable || w.Header().Get("Connection") != "close" {
		t.Errorf("a body of the same address: got %d, Connection %q; want 503, close", w.Code, w.Header().Get("Connection"))
	}
}

// A body that takes memory has to come fast.
func TestALongBodyHasALeastRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIntake(t, &memory{}, Options{})
		stop := start(t, i)
		listener := &pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: i}
		go server.Serve(listener)
		conn := listener.dial()
		began := time.Now()
		fmt.Fprintf(conn, "POST /webhooks/messaging HTTP/1.1\r\nHost: x\r\nContent-Length: 2097152\r\n\r\n")
		trickling := make(chan struct{})
		go func() { // 100 KiB a second
			defer close(trickling)
			for {
				if _, err := conn.Write(make([]byte, 10<<10)); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}()
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); answer.StatusCode != http.StatusRequestTimeout || took > 2*time.Second {
			t.Errorf("answered %d after %v, want 408 within 2s", answer.StatusCode, took)
		}
		conn.Close()
		<-trickling
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		stop()
	})
}

// A stranger does not keep a connection.
func TestAWrongSignatureClosesTheConnection(t *testing.T) {
	i := newIntake(t, &memory{}, Options{})
	stop := start(t, i)
	defer stop()
	for secret, want := range map[string]string{"another secret of 32 bytes ......": "401 close", secretText: "204 "} {
		w := httptest.NewRecorder()
		i.ServeHTTP(w, request(status(1, "sent", time.Now()), secret))
		if got := fmt.Sprint(w.Code, " ", w.Header().Get("Connection")); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Wrong signatures are answered at once while they are few, and late while they are many.
func TestManyWrongSignaturesAreAnsweredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s wrongSignatures
		began := time.Now()
		for range wrongAtOnce {
			s.wait(t.Context(), began)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the first %d: got %v, want no wait", wrongAtOnce, took)
		}
		s.wait(t.Context(), began)
		if took := time.Since(began); took != wrongDelay {
			t.Errorf("one more: got %v, want %v", took, wrongDelay)
		}
		s.waiting.Store(wrongWaiting)
		s.wait(t.Context(), began)
		if took := time.Since(began); took != wrongDelay || s.waiting.Load() != wrongWaiting {
			t.Errorf("with %d waiting: got %v more and %d waiting, want none and as many", wrongWaiting, took-wrongDelay, s.waiting.Load())
		}
		s.waiting.Store(0)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if s.wait(ctx, began); time.Since(began) != wrongDelay {
			t.Errorf("a client that left: got %v more, want none", time.Since(began)-wrongDelay)
		}
		s.wait(t.Context(), began.Add(time.Second))
		if took := time.Since(began); took != wrongDelay {
			t.Errorf("in the next second: got %v more, want none", took-wrongDelay)
		}
	})
}

// 10,000 events come in one second, in order and in the reverse order: each is stored before its
// answer.
func TestTenThousandEventsAreAllDurable(t *testing.T) {
	for _, backwards := range []bool{false, true} {
		m := &memory{}
		i := newIntake(t, m, Options{})
		stop := start(t, i)
		const posts, each = 200, 50
		statuses := make(chan int, posts)
		for p := range posts {
			go func() {
				var events []string
				for e := range each {
					n := p*each + e
					if backwards {
						n = posts*each - 1 - n
					}
					events = append(events, status(n, "delivered", noon.Add(time.Duration(n)*time.Millisecond)))
				}
				w := post(i, "["+strings.Join(events, ",")+"]")
				statuses <- w.Code
			}()
		}
		for range posts {
			if code := <-statuses; code != http.StatusNoContent {
				t.Errorf("backwards %v: got %d, want 204", backwards, code)
			}
		}
		stored := map[string]bool{}
		for _, s := range m.all().Statuses {
			stored[s.MessageID] = true
		}
		if len(stored) != posts*each {
			t.Errorf("backwards %v: got %d events stored, want %d", backwards, len(stored), posts*each)
		}
		stop()
	}
}
