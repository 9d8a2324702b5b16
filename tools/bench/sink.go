//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// sinkJob is the job of the sink.
type sinkJob struct {
	Batch int           // statuses in one POST; silence: there are none
	Delay time.Duration // the time before a message is answered
}

// figures are the counts of the sink. Times are Unix nanoseconds of its clock.
type figures struct {
	Accepted, Bytes  int64 // messages, and the bytes of their bodies
	Acked, Refused   int64 // statuses answered 2xx; POSTs answered otherwise, and repeated
	First, Last      int64 // the times of the first message and of the last answer to a status
	LastAccepted     int64
	SinkMicroseconds float64
}

// sink is the smallest service to which campaignd can send. It accepts every message at once, gives
// constant answers except for the messageId, and posts the signed statuses sent, delivered and read
// of each. It parses only the two fields of a message that its events repeat.
type sink struct {
	job   sinkJob
	began time.Duration

	mu       sync.Mutex
	messages []taken
	targets  []string

	bytes, acked, refused, first, last, lastAccepted atomic.Int64
}

// taken is what the events of an accepted message contain.
type taken struct {
	at   int64
	to   uint64
	conn uint8
}

func runSink(ctx context.Context, in *json.Decoder, out *json.Encoder) error {
	s := &sink{}
	if err := in.Decode(&s.job); err != nil {
		return err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	if err := out.Encode("http://" + ln.Addr().String()); err != nil {
		return err
	}
	s.post(ctx)
	_ = server.Close()
	if err := <-served; err != http.ErrServerClosed { //nolint:errorlint // Serve returns it bare
		return err
	}
	return nil
}

func (s *sink) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/messages", s.take)
	mux.HandleFunc("GET /api/v1/connections", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, `{"data":[`+
			`{"id":"conn_1","phoneNumber":"+15555550100","status":"active"},{"id":"conn_2","phoneNumber":"+15555550101","status":"active"},`+
			`{"id":"conn_3","phoneNumber":"+15555550102","status":"active"},{"id":"conn_4","phoneNumber":"+15555550103","status":"active"}]}`)
	})
	mux.HandleFunc("GET /api/v1/numbers", func(w http.ResponseWriter, _ *http.Request) { answer(w, `{"data":[]}`) })
	mux.HandleFunc("GET /api/v1/templates", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, `{"data":[{"id":"tpl_1","name":"spring_sale","language":"en_US","status":"APPROVED",`+
			`"category":"MARKETING","components":[`+
			`{"type":"BODY","text":"Hi {{1}}, our spring sale is on: {{2}} off everything until Sunday."},`+
			`{"type":"BUTTONS","buttons":[{"type":"URL","text":"Shop now","url":"https://shop.example/s/{{1}}"}]}]}]}`)
	})
	mux.HandleFunc("POST /bench/webhook", func(w http.ResponseWriter, r *http.Request) {
		target, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.targets = strings.Fields(string(target))
		s.mu.Unlock()
		s.began = cpu()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /bench/figures", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(s.figures())
	})
	return mux
}

func answer(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

func (s *sink) figures() figures {
	s.mu.Lock()
	n := len(s.messages)
	s.mu.Unlock()
	return figures{
		Accepted: int64(n), Bytes: s.bytes.Load(), Acked: s.acked.Load(), Refused: s.refused.Load(),
		First: s.first.Load(), Last: s.last.Load(), LastAccepted: s.lastAccepted.Load(),
		SinkMicroseconds: float64((cpu() - s.began).Microseconds()),
	}
}

// maxRequest is the longest body that the sink reads.
const maxRequest = 4096

var requests = sync.Pool{New: func() any { return new([maxRequest]byte) }}

// take answers POST /api/v1/messages.
func (s *sink) take(w http.ResponseWriter, r *http.Request) {
	buf := requests.Get().(*[maxRequest]byte)
	defer requests.Put(buf)
	if r.ContentLength <= 0 || r.ContentLength > maxRequest {
		http.Error(w, "no length", http.StatusBadRequest)
		return
	}
	body := buf[:r.ContentLength]
	if _, err := io.ReadFull(r.Body, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.job.Delay > 0 {
		select {
		case <-time.After(s.job.Delay):
		case <-r.Context().Done():
			return
		}
	}
	now := time.Now().UnixNano()
	m := taken{at: now, to: number(body, `"to":"+`), conn: uint8(number(body, `"connectionId":"conn_`))}
	if m.to == 0 || m.conn == 0 {
		http.Error(w, "the message is not of the campaign of this program", http.StatusBadRequest)
		return
	}
	s.first.CompareAndSwap(0, now)
	s.bytes.Add(int64(len(body)))
	s.mu.Lock()
	n := len(s.messages)
	s.messages = append(s.messages, m)
	s.mu.Unlock()
	h := w.Header()
	h["Content-Type"] = contentType
	h["X-Request-Id"] = answered
	var out [128]byte
	b := append(out[:0], `{"data":{"messageId":"`...)
	b = appendID(b, n)
	_, _ = w.Write(append(b, `"}}`...))
	s.lastAccepted.Store(time.Now().UnixNano())
}

var contentType, answered = []string{"application/json"}, []string{"req_bench"}

// appendID appends the n-th messageId. It has 62 characters, like a real one.
func appendID(b []byte, n int) []byte {
	b = append(b, "wamid.HBgNNDkxNTExMDAwMDAwMBUCABEYEkJF"...)
	return fmt.Appendf(b, "%020dAA==", n)
}

// number returns the number after key, and 0 without one.
func number(body []byte, key string) (n uint64) {
	at := bytes.Index(body, []byte(key))
	if at < 0 {
		return 0
	}
	for _, c := range body[at+len(key):] {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// register sets the addresses for webhooks, separated by blanks, which the posters use in turn.
func register(ctx context.Context, sink, webhook string) error {
	res, err := ask(ctx, http.MethodPost, sink+"/bench/webhook", webhook)
	if err != nil {
		return err
	}
	defer res.Close()
	return nil
}

// readFigures returns the figures of the sink.
func readFigures(ctx context.Context, sink string) (f figures, err error) {
	res, err := ask(ctx, http.MethodGet, sink+"/bench/figures", "")
	if err != nil {
		return f, err
	}
	defer res.Close()
	return f, json.NewDecoder(res).Decode(&f)
}

// The key and the secret of the sink. No other program uses them, and the sink does not check the
// key.
const (
	apiKey = "bench-key"
	secret = "bench-secret-of-more-than-32-bytes"
)

// ask sends a request and returns the body of an answer 2xx.
func ask(ctx context.Context, method, url, body string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		res.Body.Close()
		return nil, fmt.Errorf("%s %s: %s", method, url, res.Status)
	}
	return res.Body, nil
}
