package messaging

import (
	"bufio"
	"bytes"
	"context"
	"errors"
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
)

func isNotOffered(err error) bool { return errors.Is(err, ErrNotOffered) }

var hello = &Message{ConnectionID: "conn_1", To: "+15555550101", Template: &Template{Name: "order_ready", Language: "en_US", Body: []string{"A-1001"}}}

const receiptText = `{"data":{"messageId":"wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA"}}`

// rawServer hands each connection to serve.
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
		o.APIKey = NewSecret("key_1")
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
		proof Proof
		code  string
	}{
		{"closed before reading", func(c net.Conn) {
			c.Read(make([]byte, 1)) // something had been written
			reset(c)
		}, Doubt, "reset"},
		{"closed in the middle of the headers", func(c net.Conn) { c.Read(make([]byte, 40)) }, Doubt, "reset"},
		{"closed after reading", func(c net.Conn) { takeRequest(bufio.NewReader(c)) }, Doubt, "reset"},
		{"reset after reading", func(c net.Conn) { takeRequest(bufio.NewReader(c)); reset(c) }, Doubt, "reset"},
		{"stalls before reading", func(c net.Conn) { io.Copy(io.Discard, &stalled{c}) }, Doubt, "time_out"},
		{"stalls after reading", func(c net.Conn) { takeRequest(bufio.NewReader(c)); io.Copy(io.Discard, c) }, Doubt, "time_out"},
		{"cut in the middle of the status line", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, "HTTP/1.1 2")
		}, Doubt, "bad_answer"},
		{"answers with something else", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, "SSH-2.0-OpenSSH_9.6\r\n")
		}, Doubt, "bad_answer"},
		{"200, then closed in the middle of the body", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, ok+receiptText)
		}, DoubtNoID, "accepted_no_id"},
		{"200, then stalls in the middle of the body", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, ok+`{"data":`)
			io.Copy(io.Discard, c)
		}, DoubtNoID, "accepted_no_id"},
		{"502, then closed in the middle of the body", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, strings.Replace(ok, "200 OK", "502 Bad Gateway", 1)+`{"error":`)
		}, Doubt, "http_502"},
		{"400, then closed in the middle of the body", func(c net.Conn) {
			takeRequest(bufio.NewReader(c))
			io.WriteString(c, strings.Replace(ok, "200 OK", "400 Bad Request", 1)+`{"error":"send_`)
		}, NotSent, "http_400"},
		{"answers 400 without reading the body", func(c net.Conn) {
			bufio.NewReader(c).ReadString('\n')
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 50\r\n\r\n"+`{"error":"missing_content","message":"0123456789"}`+"\n")
		}, NotSent, "missing_content"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := testClient(t, rawServer(t, test.serve), Options{Timeout: 2 * time.Second})
			_, err := c.Send(context.Background(), hello)
			e := asWire(t, err)
			if e.Proof != test.proof || e.Code != test.code {
				t.Errorf("%s, code %s: %v; want %s, %s", e.Proof.word(), e.Code, e, test.proof.word(), test.code)
			}
			if e.Proof != NotSent && (e.Action != 0 || e.Feed != FeedNothing) {
				t.Errorf("a doubt asks for an action: %+v, want none", e)
			}
		})
	}
}

// stalled never reads until the connection is closed by its owner.
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
		if e := asWire(t, err); e.Proof != NotSent || e.Action != RetryLater || e.Code != "not_connected" {
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
		_, err := testClient(t, "https://service.invalid", Options{Timeout: 2 * time.Second}).Send(context.Background(), hello)
		notSent(t, err)
	})
	t.Run("certificate unknown", func(t *testing.T) {
		hits := 0
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about the handshake
		s.StartTLS()
		defer s.Close()
		_, err := testClient(t, s.URL, Options{}).Send(context.Background(), hello)
		notSent(t, err)
		if hits != 0 {
			t.Errorf("%d requests went to a server nobody vouches for, want none", hits)
		}
	})
	t.Run("TLS handshake stalls", func(t *testing.T) {
		url := rawServer(t, func(c net.Conn) { io.Copy(io.Discard, c) })
		_, err := testClient(t, strings.Replace(url, "http", "https", 1), Options{Timeout: 200 * time.Millisecond}).Send(context.Background(), hello)
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

// A server that closes kept connections, at worst after it processed the request: the case in which net/http
// repeats requests that it takes for idempotent.
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
		t.Errorf("%d accepted, %d in doubt, %d processed by the server; want %d, %d and %d", accepted, doubts, processed.Load(), sends/2, sends/2, sends)
	}
}

// The kept connection is closed by the server before the next request: whatever the
// race's end, what is called not sent was not processed, and nothing is processed twice.
func TestAStaleConnectionNeverLiesAboutWhatWasSent(t *testing.T) {
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

// Once an exchange is judged "nothing written", a writer that wakes up late must not write.
func TestABarredWireStaysSilent(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	w := &wire{Conn: near}
	w.arm()
	if !w.bar() {
		t.Fatal("bar() = false of a wire that wrote nothing, want true")
	}
	if _, err := w.Write([]byte("POST")); !errors.Is(err, errBarred) {
		t.Fatalf("a write after the verdict: %v, want %v", err, errBarred)
	}
	w.arm()
	if _, err := w.Write([]byte("POST")); !errors.Is(err, errBarred) {
		t.Fatalf("a write after arming a barred wire: %v, want %v", err, errBarred)
	}
	near2, far2 := net.Pipe()
	w = &wire{Conn: near2}
	go io.Copy(io.Discard, far2)
	w.arm()
	w.Write([]byte("P"))
	if w.bar() {
		t.Error("bar() = true of a wire that wrote a byte, want false")
	}
	far2.Close()
	near3, far3 := net.Pipe()
	far3.Close()
	w = &wire{Conn: near3}
	w.arm()
	if _, err := w.Write([]byte("P")); err == nil || !w.bar() {
		t.Errorf("a peer that had closed: %v, barred = %t; want an error and true", err, w.bar())
	}
}

// halfway takes n bytes of each write and then fails.
type halfway struct {
	net.Conn
	n int
}

func (h *halfway) Write(p []byte) (int, error) { return min(h.n, len(p)), io.ErrClosedPipe }

// A write that fails has written what it took: only one that took nothing, and was the first, leaves the wire silent.
func TestAFailedWriteCountsWhatItTook(t *testing.T) {
	conn := &halfway{n: 3}
	w := &wire{Conn: conn}
	w.arm()
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
	w.arm()
	if _, err := w.Write([]byte("POST")); err == nil {
		t.Fatal("got no error of the write, want one")
	}
	if got, want := w.bar(), true; got != want {
		t.Errorf("bar() = %t after no byte, want %t", got, want)
	}
}

func TestRedirectsAreNeverFollowedAndTheKeyStaysHere(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var leaked atomic.Int32
		target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { leaked.Add(1) }))
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", target.URL+"/api/v1/messages")
			w.WriteHeader(status)
		}))
		c := testClient(t, s.URL, Options{})
		_, err := c.Send(context.Background(), hello)
		if e := asWire(t, err); e.Proof != NotSent || e.Hold != HoldConfig || !strings.Contains(e.Message, "base_url") {
			t.Errorf("%d: %+v, want not_sent, a hold of the configuration and a word about base_url", status, e)
		}
		if _, err := c.Connections(context.Background()); asWire(t, err).Hold != HoldConfig {
			t.Errorf("%d: %v, want a hold of the configuration", status, err)
		}
		if leaked.Load() != 0 {
			t.Errorf("%d was followed %d times, want never", status, leaked.Load())
		}
		s.Close()
		target.Close()
	}
}

func TestCancelAfterWritingIsDoubt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	url := rawServer(t, func(c net.Conn) {
		takeRequest(bufio.NewReader(c))
		cancel()
		io.Copy(io.Discard, c)
	})
	_, err := testClient(t, url, Options{}).Send(ctx, hello)
	if e := asWire(t, err); e.Proof != Doubt || e.Code != "cancelled" {
		t.Errorf("got %+v, want a doubt, cancelled", e)
	}
}

func TestAProvenRefusalIsNoDoubtWhateverItsStatus(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(503)
		io.WriteString(w, `{"error":"queue_full","message":"Not taken."}`)
	}))
	defer s.Close()
	_, err := testClient(t, s.URL, Options{}).Send(context.Background(), hello)
	if e := asWire(t, err); e.Proof != Doubt || e.Wait != 3*time.Second {
		t.Errorf("got %+v, want a doubt that waits 3s", e)
	}
	_, err = testClient(t, s.URL, Options{ProvenRefusals: []StatusCode{{503, "queue_full"}}}).Send(context.Background(), hello)
	if e := asWire(t, err); e.Proof != NotSent || e.Action == 0 {
		t.Errorf("got %+v, want not_sent with an action", e)
	}
	_, err = testClient(t, s.URL, Options{ProvenRefusals: []StatusCode{{502, "queue_full"}}}).Send(context.Background(), hello)
	if e := asWire(t, err); e.Proof != Doubt {
		t.Errorf("another pair: %+v, want a doubt", e)
	}
}

func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"data":{"messageId":"`)
		chunk := bytes.Repeat([]byte("a"), 32<<10)
		for range 1000 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	_, err := testClient(t, s.URL, Options{}).Send(context.Background(), hello)
	if e := asWire(t, err); e.Proof != DoubtNoID {
		t.Errorf("got %+v, want doubt_no_id", e)
	}
}

// A transport that fires no hooks may have sent anything.
func TestAForeignTransportProvesOnlyAFailedDial(t *testing.T) {
	for _, test := range []struct {
		err   error
		proof Proof
	}{
		{errors.New("something"), Doubt},
		{context.DeadlineExceeded, Doubt},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, NotSent},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, Doubt},
	} {
		c := testClient(t, "https://service.example", Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, test.err })})
		_, err := c.Send(context.Background(), hello)
		if e := asWire(t, err); e.Proof != test.proof {
			t.Errorf("%v: %s, want %s", test.err, e.Proof.word(), test.proof.word())
		}
	}
	// An *http.Transport fires them, though its connections are not ours: complete headers are doubt.
	url := rawServer(t, func(c net.Conn) { takeRequest(bufio.NewReader(c)) })
	_, err := testClient(t, url, Options{Transport: &http.Transport{}}).Send(context.Background(), hello)
	if e := asWire(t, err); e.Proof != Doubt {
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
		_, err := c.Send(context.Background(), &Message{ConnectionID: "c", To: to, Template: hello.Template})
		if e := asWire(t, err); e.Proof != NotSent || e.Action != Refuse {
			t.Errorf("%q: %+v, want not_sent and refuse", to, e)
		}
	}
}

func itoa(n int) string {
	b := []byte{}
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}
