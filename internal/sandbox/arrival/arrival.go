// Package arrival tells when a request reached this machine. On a busy machine that is earlier than
// the moment at which its handler gets a turn, sometimes by a quarter of a second.
package arrival

import (
	"context"
	"net"
	"syscall"
	"time"
)

type connKey struct{}

// Note keeps the connection of the requests for When. It has the shape of http.Server.ConnContext.
// A nil connection stands for requests that arrive when their handler is called.
func Note(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// When returns the time at which the last bytes of a request came in, to within a tick of the
// kernel (1 to 10 ms). ctx is the request's context, and its body was read. It is now for a request
// whose connection was not noted or is no socket, and on systems that do not tell this time.
func When(ctx context.Context) time.Time {
	c, _ := ctx.Value(connKey{}).(net.Conn)
	for {
		outer, ok := c.(interface{ NetConn() net.Conn }) // such as a tls.Conn
		if !ok {
			break
		}
		c = outer.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return time.Now()
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return time.Now()
	}
	var ago time.Duration
	if err := raw.Control(func(fd uintptr) { ago = sinceReceived(int(fd)) }); err != nil {
		return time.Now() // the connection was closed meanwhile
	}
	return time.Now().Add(-ago)
}
