package messaging

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// conn is a connection of a pool. The goroutine that sends a message writes the request and reads
// the answer itself. http.Transport passes each request to two goroutines of its connection and
// back, which costs more CPU than the exchange (docs/decisions/0022-own-connections.md).
type conn struct {
	wire   *wire
	stream net.Conn // the wire, or TLS over it
	in     *bufio.Reader
	left   int          // bytes that may still come in
	out    bytes.Buffer // the request
	open   bool         // another exchange may follow
	idle   time.Time    // since when
}

const (
	maxHead    = 1 << 20 // bytes of the head of an answer to a send
	maxInterim = 5       // answers 1xx before the final one, as net/http allows
	// answerBuffer holds a usual answer whole. Hundreds of connections of each number each have one.
	answerBuffer = 1 << 10

	// A request looks once more whether its connection is open if what comes before its first byte
	// took longer than lookAgain.
	lookAgain = time.Millisecond
	// listenForTLS is how long silent listens to a connection over TLS that has something.
	listenForTLS = time.Millisecond
)

// dial makes a connection to address, with TLS if config is not nil. The handshake takes at most d.
func dial(ctx context.Context, way dialFunc, address string, config *tls.Config, d time.Duration) (*conn, error) {
	raw, err := way(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: raw}
	c := &conn{wire: w, stream: w, open: true}
	c.in = bufio.NewReaderSize(c, answerBuffer)
	if config != nil {
		secure := tls.Client(w, config)
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		c.stream = secure
	}
	return c, nil
}

// Read reads from the stream. It ends an answer that is longer than allowed.
func (c *conn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.EOF
	}
	n, err := c.stream.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// post writes the request with the text of m, in one write, and reads the head of the answer. The
// caller then reads the body, and calls answered.
func (c *conn) post(req *http.Request, text []byte, m *Message) (*http.Response, error) {
	c.open = false
	c.out.Reset()
	c.out.WriteString(req.Method + " " + req.URL.RequestURI() + " HTTP/1.1\r\nHost: " + req.Host + "\r\n")
	_ = req.Header.Write(&c.out) // a buffer takes everything
	c.out.WriteString("Content-Length: ")
	c.out.Write(strconv.AppendInt(c.out.AvailableBuffer(), int64(len(text)), 10))
	c.out.WriteString("\r\n\r\n")
	c.out.Write(text)
	if _, err := c.stream.Write(c.out.Bytes()); err != nil {
		return nil, err
	}
	m.wrote()
	c.left = maxHead + maxAnswer
	for range maxInterim + 1 {
		resp, err := http.ReadResponse(c.in, req)
		if err != nil || resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, err
		}
	}
	return nil, errors.New("too many answers 1xx")
}

// answered says that the body was read to its end. The connection stays open if the peer agrees,
// and if nothing follows that nobody asked for.
func (c *conn) answered(resp *http.Response) {
	c.open = !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols && c.in.Buffered() == 0
}

// interrupt ends the reads and writes that are under way, and all later ones.
func (c *conn) interrupt() { _ = c.wire.Conn.SetDeadline(time.Unix(1, 0)) }

// Close closes the connection at once: an exchange may be under way.
func (c *conn) Close() { _ = c.wire.Conn.Close() }

// silent reports whether the peer has neither closed the idle connection nor sent something over
// it. A request that is written into a closed connection is a doubt.
func (c *conn) silent() bool {
	something, err := c.wire.pending()
	switch {
	case err == nil && !something:
		return true
	case err == nil && c.stream != net.Conn(c.wire):
		return c.quietFor(listenForTLS) // session tickets, or an alert that closes
	case errors.Is(err, errors.ErrUnsupported):
		return c.quietFor(listenFor)
	}
	return false
}

// quietFor reports whether the stream has nothing for the reader during d.
func (c *conn) quietFor(d time.Duration) bool {
	if c.stream.SetReadDeadline(time.Now().Add(d)) != nil {
		return false
	}
	var one [1]byte
	_, err := c.stream.Read(one[:])
	return isTimeout(err) && c.stream.SetReadDeadline(time.Time{}) == nil
}
