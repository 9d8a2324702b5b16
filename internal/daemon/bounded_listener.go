package daemon

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// boundedListener is a net.Listener with a bound on its open connections, and on the connections of
// one address. The process keeps the other file descriptors for itself: the ledger, the requests in
// flight, the lists. A connection beyond the bound closes one that waits for a request; if there is
// none, it is closed itself.
type boundedListener struct {
	net.Listener
	most int // connections
	each int // connections of one address

	mu   sync.Mutex
	open map[*boundedConn]struct{}
	of   map[string]int // connections by address
}

// boundedConn is a connection of a boundedListener.
type boundedConn struct {
	net.Conn
	in      *boundedListener
	address string
	used    bool      // it has carried a request
	idle    bool      // it waits for a request
	since   time.Time // of idle
}

// The share of the file descriptors that the connections of one listener take at most, and of these
// the share of one address. A proxy in front of campaignd is one address.
const (
	listenerShare    = 4
	addressShare     = 2
	leastConnections = 32
	mostConnections  = 4096
)

func newBoundedListener(ln net.Listener, descriptors int) *boundedListener {
	most := min(max(descriptors/listenerShare, leastConnections), mostConnections)
	return &boundedListener{Listener: ln, most: most, each: most / addressShare, open: map[*boundedConn]struct{}{}, of: map[string]int{}}
}

// Accept implements net.Listener.
func (c *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil {
			host = conn.RemoteAddr().String()
		}
		if g := (&boundedConn{Conn: conn, in: c, address: host, idle: true, since: time.Now()}); c.admit(g) {
			return g, nil
		}
		_ = conn.Close()
	}
}

// admit takes g among the open connections, and reports whether it may stay.
func (c *boundedListener) admit(g *boundedConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own := c.of[g.address] >= c.each; own || len(c.open) >= c.most {
		leaves := c.waiting(g.address, own)
		if leaves == nil {
			return false
		}
		c.remove(leaves)
		_ = leaves.Conn.Close()
	}
	c.open[g] = struct{}{}
	c.of[g.address]++
	return true
}

// waiting returns the connection that has waited longest for a request: one of address if own is
// set, else one of the address with the most connections.
func (c *boundedListener) waiting(address string, own bool) (longest *boundedConn) {
	for g := range c.open {
		switch {
		case !g.idle, own && g.address != address:
		case longest == nil, c.of[g.address] > c.of[longest.address],
			c.of[g.address] == c.of[longest.address] && g.since.Before(longest.since):
			longest = g
		}
	}
	return longest
}

// remove forgets a connection, once.
func (c *boundedListener) remove(g *boundedConn) {
	if _, open := c.open[g]; !open {
		return
	}
	delete(c.open, g)
	if c.of[g.address]--; c.of[g.address] == 0 {
		delete(c.of, g.address)
	}
}

// NetConn returns the connection of the system, as the method of a tls.Conn does.
func (g *boundedConn) NetConn() net.Conn { return g.Conn }

// Close implements net.Conn.
func (g *boundedConn) Close() error {
	g.in.mu.Lock()
	g.in.remove(g)
	g.in.mu.Unlock()
	return g.Conn.Close()
}

// note is the ConnState of the server: it records which connections wait for a request.
func (c *boundedListener) note(conn net.Conn, s http.ConnState) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	g, ok := conn.(*boundedConn)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g.used = g.used || s != http.StateNew
	if g.idle = s == http.StateNew || s == http.StateIdle; g.idle {
		g.since = time.Now()
	}
}

// closeUnused closes the connections that have carried no request.
func (c *boundedListener) closeUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for g := range c.open {
		if !g.used {
			_ = g.Conn.Close()
		}
	}
}
