package webhooks

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener over net.Pipe, so that a real http.Server runs with the clock of a bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

func TestABodyThatTricklesIsCutOffAtTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIntake(t, &memory{}, Options{})
		stop := start(t, i)
		listener := &pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: i}
		go server.Serve(listener)

		conn := listener.dial()
		began := time.Now()
		fmt.Fprintf(conn, "POST /webhooks/messaging HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
		trickling := make(chan struct{})
		go func() { // a byte a second
			defer close(trickling)
			for {
				if _, err := conn.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); answer.StatusCode != http.StatusRequestTimeout || took != 10*time.Second {
			t.Errorf("answered %d after %v, want 408 after 10s", answer.StatusCode, took)
		}
		conn.Close()
		<-trickling

		// The deadline of one body does not apply to the next request on the same connection.
		conn = listener.dial()
		in := bufio.NewReader(conn)
		for n := range 3 {
			body := status(n, "sent", time.Now())
			r := request(body, secretText)
			go r.Write(conn)
			answer, err := http.ReadResponse(in, r)
			if err != nil || answer.StatusCode != http.StatusNoContent {
				t.Fatalf("request %d: %v, %v; want 204", n, answer, err)
			}
			time.Sleep(time.Minute)
		}
		conn.Close()
		if n := i.Counts().Rejected[RejectedSlow]; n != 1 {
			t.Errorf("counted %d as slow, want 1", n)
		}
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		stop()
	})
}

// nothing is a ResponseWriter that keeps only the status.
type nothing struct {
	header http.Header
	status int
}

func (n *nothing) Header() http.Header         { return n.header }
func (n *nothing) Write(b []byte) (int, error) { return len(b), nil }
func (n *nothing) WriteHeader(status int)      { n.status = status }

// BenchmarkServeHTTP measures a request of one event: verify, decode, fold, commit, answer. The
// ledger does nothing.
func BenchmarkServeHTTP(b *testing.B) {
	i := newIntake(b, &stuckLedger{release: closed()}, Options{}, secretText, strings.Repeat("o", 32))
	start(b, i)
	body := status(1, "delivered", time.Now())
	signed := request(body, secretText)
	b.ReportAllocs()
	b.SetParallelism(64)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		w := &nothing{header: http.Header{}}
		for p.Next() {
			r := *signed
			r.Body = io.NopCloser(strings.NewReader(body))
			i.ServeHTTP(w, &r)
			if w.status != http.StatusNoContent {
				b.Errorf("answered %d", w.status)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	b.ReportMetric(float64(b.N)/float64(i.Counts().Commits), "events/commit")
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// No signed body makes the intake panic. It answers 2xx only if it has applied all facts of the
// body.
func FuzzServeHTTP(f *testing.F) {
	for _, body := range []string{
		"", "[]", "{}", "null", `[1,"a",null]`, status(1, "sent", noon),
		"[" + status(1, "read", noon) + "," + inbound("+15555550101", "stop", noon) + "]",
		`{"events":[{"type":"template.status","data":{"name":"a","event":"PAUSED"}}]}`,
		`{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"messages","value":{"statuses":[` +
			`{"id":"wamid.A","status":"failed","errors":[{"code":131050}],"timestamp":"9999999999"}]}}]}]}`,
		`{"type":"message.status","data":{"messageId":"\u0000","status":"sent","to":"\ud800"}}`,
	} {
		f.Add(body)
	}
	m := &memory{}
	i := newIntake(f, m, Options{})
	start(f, i)
	f.Fuzz(func(t *testing.T, body string) {
		m.mu.Lock()
		m.batches = nil
		m.mu.Unlock()
		before := i.Counts()
		w := post(i, body)
		events, err := i.o.Decode([]byte(body))
		facts, _ := i.fold(events, time.Now(), false)
		stored := m.all()
		switch {
		case w.Code == http.StatusNoContent:
			if err != nil {
				t.Fatalf("answered 204 to what cannot be decoded (%v), want 400", err)
			}
			if len(stored.Statuses) != len(facts.Statuses) || len(stored.Holds) != len(facts.Holds) {
				t.Fatalf("answered 204 with %d of %d statuses stored, %d of %d holds; want all",
					len(stored.Statuses), len(facts.Statuses), len(stored.Holds), len(facts.Holds))
			}
		case w.Code == http.StatusBadRequest || w.Code == http.StatusRequestEntityTooLarge:
			if stored.Len() != 0 {
				t.Fatalf("answered %d and stored something, want nothing", w.Code)
			}
		default:
			t.Fatalf("answered %d, want 204, 400 or 413", w.Code)
		}
		if i.Counts().Taken == before.Taken && w.Code == http.StatusNoContent {
			t.Fatalf("counted %d as taken, want one more than %d", i.Counts().Taken, before.Taken)
		}
	})
}
