// Package inprocess carries HTTP requests to a handler of the same process, without sockets.
package inprocess

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
)

// Transport carries requests to a handler in memory. It is for testing/synctest bubbles, where time
// does not advance while a goroutine waits for a socket. It behaves as net/http does:
//
//   - The handler runs in its own goroutine and goes on after the client has given up.
//   - http.ErrAbortHandler before the answer gives io.EOF, and within the body io.ErrUnexpectedEOF.
//   - The hooks of httptrace are called when the request is written.
//   - The body is streamed: the client can read what the handler has written so far.
type Transport struct {
	handler http.Handler
	wg      sync.WaitGroup
}

var _ http.RoundTripper = (*Transport)(nil)

// NewTransport returns a Transport that passes the requests to any host to h.
func NewTransport(h http.Handler) *Transport { return &Transport{handler: h} }

// Wait blocks until no handler is running.
func (t *Transport) Wait() { t.wg.Wait() }

// RoundTrip implements http.RoundTripper. It closes the request's body.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.GetConn != nil {
		trace.GetConn(req.URL.Host)
	}
	if trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Reused: true})
	}
	// The handler's context ends when the client leaves or the answer is complete.
	hctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	in := req.Clone(hctx)
	in.Body = io.NopCloser(bytes.NewReader(body))
	in.ContentLength = int64(len(body))
	in.RequestURI = req.URL.RequestURI()
	in.RemoteAddr = "192.0.2.1:1234"
	in.Host = cmp.Or(in.Host, req.URL.Host)
	in.URL.Scheme, in.URL.Host = "", ""
	if trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
	if trace != nil && trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	a := newAnswer()
	t.wg.Go(func() {
		defer cancel()
		err := io.EOF
		defer func() {
			p := recover()
			if p == nil {
				err = nil
			} else if e, ok := p.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
				panic(p) // a bug of the handler
			}
			a.finish(err)
		}()
		t.handler.ServeHTTP(a, in)
	})
	select {
	case <-a.started:
	case <-ctx.Done():
		cancel()
		return nil, context.Cause(ctx)
	}
	if a.aborted() {
		return nil, io.EOF
	}
	if trace != nil && trace.GotFirstResponseByte != nil {
		trace.GotFirstResponseByte()
	}
	stop := context.AfterFunc(ctx, func() { a.fail(context.Cause(ctx)); cancel() })
	res := &http.Response{
		StatusCode: a.status, Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.sent, Body: &answerBody{a: a, close: func() { stop(); cancel() }}, Request: req, ContentLength: -1,
	}
	if n, err := strconv.ParseInt(a.sent.Get("Content-Length"), 10, 64); err == nil {
		res.ContentLength = n
	}
	return res, nil
}

// answer is a response that is being written. Its writer never blocks; its reader does.
type answer struct {
	header  http.Header
	started chan struct{} // closed when the status is known, or the handler ended without one

	mu     sync.Mutex
	cond   *sync.Cond
	status int         // 0: not written yet
	sent   http.Header // the header at the time of the status
	body   []byte      // written and not yet read
	done   bool        // the handler has ended
	err    error       // the error for the reader after body
}

func newAnswer() *answer {
	a := &answer{header: http.Header{}, started: make(chan struct{})}
	a.cond = sync.NewCond(&a.mu)
	return a
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(status)
}

func (a *answer) begin(status int) {
	if a.status == 0 && !a.done {
		a.status, a.sent = status, a.header.Clone()
		close(a.started)
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begin(http.StatusOK)
	if a.err != nil {
		return 0, a.err
	}
	a.body = append(a.body, p...)
	a.cond.Broadcast()
	return len(p), nil
}

// Flush implements http.Flusher. The reader can already read all that was written, so Flush only
// sends the status.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// finish ends the answer. err is io.EOF if the handler aborted the answer, else nil.
func (a *answer) finish(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status == 0 && err != nil {
		a.done = true
		close(a.started)
		return
	}
	a.begin(http.StatusOK)
	a.done = true
	if err != nil && a.err == nil {
		a.err = io.ErrUnexpectedEOF
	}
	a.cond.Broadcast()
}

// fail discards what is not yet read and makes the reader return err, unless the handler has ended.
func (a *answer) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done && a.err == nil {
		a.err, a.body = err, nil
	}
	a.cond.Broadcast()
}

func (a *answer) aborted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status == 0
}

// answerBody is the body of the response, for the client.
type answerBody struct {
	a     *answer
	close func()
}

func (b *answerBody) Read(p []byte) (int, error) {
	b.a.mu.Lock()
	defer b.a.mu.Unlock()
	for len(b.a.body) == 0 && !b.a.done && b.a.err == nil {
		b.a.cond.Wait()
	}
	if len(b.a.body) > 0 {
		n := copy(p, b.a.body)
		b.a.body = b.a.body[n:]
		return n, nil
	}
	if b.a.err != nil {
		return 0, b.a.err
	}
	return 0, io.EOF
}

func (b *answerBody) Close() error {
	b.close()
	b.a.fail(errors.New("sandbox: read after Close"))
	return nil
}
