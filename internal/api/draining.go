package api

import (
	"io"
	"net/http"
	"time"
)

// The limits of draining. A body that is longer than maxDrain by its own header is not drained:
// its sender would wait for minutes to learn what an end of the connection says at once.
const (
	maxDrain = 64 << 20 // bytes: a part of the largest size and as much again
	drainFor = 20 * time.Second
)

// draining reads what is left of a request's body before it answers with a failure. A client that
// reads the answer after it has sent all would otherwise get a reset connection in its place.
type draining struct {
	http.ResponseWriter
	r      *http.Request
	body   *begunBody
	status int // of the answer; 0: 200, or none yet
}

// begunBody notes whether somebody has read the body.
type begunBody struct {
	io.ReadCloser
	begun bool
}

func (b *begunBody) Read(p []byte) (int, error) {
	b.begun = true
	return b.ReadCloser.Read(p)
}

// Close does nothing: what closed the body could not be drained. The server closes it in the end.
func (b *begunBody) Close() error { return nil }

// drains prepares a request whose failures are answered after its body.
func drains(w http.ResponseWriter, r *http.Request) *draining {
	body := &begunBody{ReadCloser: r.Body}
	r.Body = body
	return &draining{ResponseWriter: w, r: r, body: body}
}

// Unwrap is for http.ResponseController.
func (d *draining) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (d *draining) WriteHeader(status int) {
	d.status = status
	// A client that waits for 100 Continue reads the answer first, unless it was told to go on.
	waits := d.r.Header.Get("Expect") != "" && !d.body.begun
	if status >= http.StatusBadRequest && !waits && d.r.ContentLength != 0 && d.r.ContentLength <= maxDrain {
		d.drain()
	}
	d.ResponseWriter.WriteHeader(status)
}

// drain reads until the end of the body, maxDrain, drainFor, or a fault of the connection.
func (d *draining) drain() {
	c, now := http.NewResponseController(d.ResponseWriter), time.Now()
	if c.SetReadDeadline(now.Add(drainFor)) != nil || c.SetWriteDeadline(now.Add(2*drainFor)) != nil {
		return // a connection without deadlines could be held for ever
	}
	_, _ = io.CopyN(io.Discard, d.body, maxDrain)
}
