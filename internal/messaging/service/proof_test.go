package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

func isNotOffered(err error) bool { return errors.Is(err, messaging.ErrNotOffered) }

var hello = &messaging.Message{ConnectionID: "conn_1", To: "+15555550101",
	Template: &messaging.Template{Name: "order_ready", Language: "en_US", Body: []string{"A-1001"}}}

const receiptText = `{"data":{"messageId":"wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA"}}`

// rawServer listens and gives each connection to serve.
func rawServer(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			all.Go(func() { defer c.Close(); serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return "http://" + l.Addr().String()
}

// takeRequest reads one whole request.
func takeRequest(r *bufio.Reader) error {
	req, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}

func reset(c net.Conn) {
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

func testClient(t testing.TB, url string, o Options) *Client {
	t.Helper()
	o.BaseURL = url
	if o.APIKey.IsZero() {
		o.APIKey = messaging.NewSecret("key_1")
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestBrokenExchangesProveNoMoreThanTheyCan(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n"
	for _, test := range []struct {
		name  string
		serve func(net.Conn)
		proof messaging.Proof
		code  string
	}{
		{"closed before reading", func(c net.Conn) {
			c.Read(make([]byte, 1)) // the client has written at least one byte
			reset(c)
		}, messaging.Doubt, "reset"},
		{"closed in the middle of the headers", func(c net.Conn) { c.Read(make([]byte, 40)) }, messaging.Doubt, "reset"},
		{"closed after reading", func(c net.Conn) { takeRequest(bufio.NewReader(c)) }, messaging.Doubt, "reset"},
		{"reset after reading", func(c net.Conn) { takeRequest(bufio.NewReader(c)); reset(c) }, messaging.Doubt, "reset"},
		{"stalls before reading", func(c net.Conn) { io.Copy(io.Discard, &stalled{c}) }, messaging.Doubt, "time_out"},
		{"stalls after reading", func(c net.Conn) { takeRequest(bufio.NewReader(c)); io.Copy(io.Discard, c) }, messaging.Doubt, "time_out"},
		{"cut in the middle of the status line", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, "HTTP/1.1 2")
		}, messaging.Doubt, "bad_answer"},
		{"answers with something else", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n")
		}, messaging.Doubt, "bad_answer"},
		{"200, then closed in the middle of the body", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, ok+receiptText)
		}, messaging.DoubtNoID, "accepted_no_id"},
		{"200, then stalls in the middle of the body", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, ok+`{"data":`)
			io.Copy(io.Discard, c)
		}, messaging.DoubtNoID, "accepted_no_id"},
		{"502, then closed in the middle of the body", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, strings.Replace(ok, "200 OK", "502 Bad Gateway", 1)+`{"error":`)
		}, messaging.Doubt, "http_502"},
		{"400, then closed in the middle of the body", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, strings.Replace(ok, "200 OK", "400 Bad Request", 1)+`{"error":"send_`)
		}, messaging.NotSent, "http_400"},
		{"answers 400 without reading the body", func(c net.Conn) {
			bufio.NewReader(c).ReadString('\n')
			io.WriteString(c,
				"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 50\r\n\r\n"+`{"error":"missing_content","message":"0123456789"}`+"\n")
		}, messaging.NotSent, "missing_content"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			timeout := 20 * time.Second
			if strings.Contains(test.name, "stalls") {
				timeout = 2 * time.Second
			}
			c := testClient(t, rawServer(t, test.serve), Options{Timeout: timeout})
			_, err := c.Send(context.Background(), hello)
			e := asWire(t, err)
			if e.Proof != test.proof || e.Code != test.code {
				t.Errorf("%s, code %s: %v; want %s, %s", fmt.Sprint(e.Proof), e.Code, e, fmt.Sprint(test.proof), test.code)
			}
			if e.Proof != messaging.NotSent && (e.Action != 0 || e.Feed != messaging.FeedNothing) {
				t.Errorf("a doubt asks for an action: %+v, want none", e)
			}
		})
	}
}

// stalled reads a byte at a time and returns none, until the owner closes the connection.
type stalled struct{ net.Conn }

func (s *stalled) Read(p []byte) (int, error) {
	buf := make([]byte, 1) // one byte, so that the kernel's buffer keeps the rest
	for {
		if _, err := s.Conn.Read(buf); err != nil {
			return 0, io.EOF
		}
	}
}

func TestWhatNeverReachedTheWireIsNotSent(t *testing.T) {
	notSent := func(t *testing.T, err error) {
		t.Helper()
		if e := asWire(t, err); e.Proof != messaging.NotSent || e.Action != messaging.RetryLater || e.Code != "not_connected" {
			t.Errorf("got %+v, want not_sent, retry_later, not_connected", e)
		}
	}
	t.Run("connection refused", func(t *testing.T) {
		l, _ := net.Listen("tcp", "127.0.0.1:0")
		l.Close()
		_, err := testClient(t, "http://"+l.Addr().String(), Options{}).Send(context.Background(), hello)
		notSent(t, err)
	})
	t.Run("name unknown", func(t *testing.T) {
		_, err := testClient(t, "https://service.invalid", Options{}).Send(context.Background(), hello)
		notSent(t, err)
	})
	t.Run("certificate unknown", func(t *testing.T) {
		hits := 0
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // the server logs the failed handshake
		s.StartTLS()
		defer s.Close()
		_, err := testClient(t, s.URL, Options{}).Send(context.Background(), hello)
		notSent(t, err)
		if hits != 0 {
			t.Errorf("%d requests went to a server with an unknown certificate, want none", hits)
		}
	})
	t.Run("TLS handshake stalls", func(t *testing.T) {
		url := rawServer(t, func(c net.Conn) { io.Copy(io.Discard, c) })
		_, err := testClient(t, strings.Replace(url, "http", "https", 1),
			Options{Timeout: 200 * time.Millisecond}).Send(context.Background(), hello)
		notSent(t, err)
	})
	t.Run("context ended before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := testClient(t, "http://127.0.0.1:1", Options{}).Send(ctx, hello)
		notSent(t, err)
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("no connection free", func(t *testing.T) {
		var requests atomic.Int32
		release, first := make(chan struct{}), make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 1 {
				close(first)
			}
			<-release
			io.WriteString(w, receiptText)
		}))
		defer s.Close()
		c := testClient(t, s.URL, Options{MaxInFlight: 1})
		done := make(chan error)
		go func() {
			_, err := c.Send(context.Background(), hello)
			done <- err
		}()
		<-first
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := c.Send(ctx, hello)
		notSent(t, err)
		close(release)
		if err := <-done; err != nil || requests.Load() != 1 {
			t.Errorf("%v, %d requests; want accepted, 1", err, requests.Load())
		}
	})
}

func TestCancelAfterWritingIsDoubt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	url := rawServer(t, func(c net.Conn) {
		takeRequest(bufio.NewReader(c))
		cancel()
		io.Copy(io.Discard, c)
	})
	_, err := testClient(t, url, Options{}).Send(ctx, hello)
	if e := asWire(t, err); e.Proof != messaging.Doubt || e.Code != "cancelled" {
		t.Errorf("got %+v, want a doubt, cancelled", e)
	}
}

// A transport that calls no hooks may have sent anything.
func TestAForeignTransportProvesOnlyAFailedDial(t *testing.T) {
	for _, test := range []struct {
		err   error
		proof messaging.Proof
	}{
		{errors.New("something"), messaging.Doubt},
		{context.DeadlineExceeded, messaging.Doubt},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, messaging.NotSent},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, messaging.Doubt},
	} {
		c := testClient(t, "https://service.example",
			Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, test.err })})
		_, err := c.Send(context.Background(), hello)
		if e := asWire(t, err); e.Proof != test.proof {
			t.Errorf("%v: %s, want %s", test.err, fmt.Sprint(e.Proof), fmt.Sprint(test.proof))
		}
	}
	// An *http.Transport calls them. Its connections are no wires, so complete headers are a doubt.
	url := rawServer(t, func(c net.Conn) { takeRequest(bufio.NewReader(c)) })
	_, err := testClient(t, url, Options{Transport: &http.Transport{}}).Send(context.Background(), hello)
	if e := asWire(t, err); e.Proof != messaging.Doubt {
		t.Errorf("got %+v, want a doubt", e)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNumbersWithoutPlusAreNotPosted(t *testing.T) {
	c := testClient(t, "https://service.example", Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("got a request, want none")
		return nil, io.EOF
	})})
	for _, to := range []string{"", "15555550101", "+", "+1555555010a", "+0155555501", "+12345678901234567", " +15555550101"} {
		_, err := c.Send(context.Background(), &messaging.Message{ConnectionID: "c", To: to, Template: hello.Template})
		if e := asWire(t, err); e.Proof != messaging.NotSent || e.Action != messaging.Refuse {
			t.Errorf("%q: %+v, want not_sent and refuse", to, e)
		}
	}
}
