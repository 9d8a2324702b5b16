package daemon

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// crowd is a net.Listener with a bound on its open connections, and on those of one address. The
// process keeps the other file descriptors for itself: the ledger, the requests in flight, the
// lists. One connection too many takes the place of one that waits for a request; if there is none,
// it is closed.
type crowd struct {
	net.Listener
	most int // connections
	each int // connections of one address

	mu     sync.Mutex
	guests map[*guest]struct{}
	of     map[string]int // connections by address
}

// guest is a connection of a crowd.
type guest struct {
	net.Conn
	crowd   *crowd
	address string
	used    bool      // it has carried a request
	idle    bool      // it waits for a request
	since   time.Time // of idle
	gone    bool
}

// The share of the file descriptors that the connections of one listener take at most, and of these
// the share of one address. A proxy in front of campaignd is one address.
const (
	crowdShare   = 4
	addressShare = 2
	leastCrowd   = 32
	mostCrowd    = 4096
)

func newCrowd(ln net.Listener, descriptors int) *crowd {
	most := min(max(descriptors/crowdShare, leastCrowd), mostCrowd)
	return &crowd{Listener: ln, most: most, each: most / addressShare, guests: map[*guest]struct{}{}, of: map[string]int{}}
}

// Accept implements net.Listener.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil {
			host = conn.RemoteAddr().String()
		}
		if g := c.admit(&guest{Conn: conn, crowd: c, address: host, idle: true, since: time.Now()}); g != nil {
			return g, nil
		}
		_ = conn.Close()
	}
}

// admit returns g, or nil if there is no place for it.
func (c *crowd) admit(g *guest) *guest {
	c.mu.Lock()
	var leaves *guest
	full := len(c.guests) >= c.most
	if own := c.of[g.address] >= c.each; full || own {
		leaves = c.waiting(g.address, own)
		if leaves == nil {
			c.mu.Unlock()
			return nil
		}
		c.remove(leaves)
	}
	c.guests[g] = struct{}{}
	c.of[g.address]++
	c.mu.Unlock()
	if leaves != nil {
		_ = leaves.Conn.Close()
	}
	return g
}

// waiting returns the connection that has waited longest for a request: one of address if own is
// set, else one of the address with the most connections.
func (c *crowd) waiting(address string, own bool) (longest *guest) {
	for g := range c.guests {
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
func (c *crowd) remove(g *guest) {
	if g.gone {
		return
	}
	g.gone = true
	delete(c.guests, g)
	if c.of[g.address]--; c.of[g.address] == 0 {
		delete(c.of, g.address)
	}
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.crowd.mu.Lock()
	g.crowd.remove(g)
	g.crowd.mu.Unlock()
	return g.Conn.Close()
}

// note is the ConnState of the server: it records which connections wait for a request.
func (c *crowd) note(conn net.Conn, s http.ConnState) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	g, ok := conn.(*guest)
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
func (c *crowd) closeUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for g := range c.guests {
		if !g.used {
			_ = g.Conn.Close()
		}
	}
}
