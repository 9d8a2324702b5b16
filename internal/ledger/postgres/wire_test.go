//go:build unix

package postgres

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres/connect"
)

// cutter is a wire to the server that can be cut at a commit.
type cutter struct {
	net.Listener
	to     string
	cut    atomic.Int32 // what happens to the next commit
	closed atomic.Bool  // refuses new connections
	after  func()       // called after the cut
	ended  sync.WaitGroup
}

const (
	passes      = iota
	answerLost  // the server commits, and its answer is lost
	requestLost // the commit never reaches the server
)

// commitPrepared finds the name under which a connection prepares its commits.
var commitPrepared = regexp.MustCompile(`(stmtcache_[0-9a-f]+)\x00commit\x00`)

func newCutter(t *testing.T, to string) *cutter {
	t.Helper()
	c := &cutter{to: to}
	c.Listener = relay(t, &c.ended, c.carry)
	return c
}

// relay calls carry for each connection that comes in until the test ends. Then it waits for the
// goroutines that ended counts.
func relay(t *testing.T, ended *sync.WaitGroup, carry func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			ended.Go(func() { carry(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		ended.Wait()
	})
	return l
}

func (c *cutter) carry(client net.Conn) {
	defer client.Close()
	if c.closed.Load() {
		return
	}
	server, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	var lost, cutting atomic.Bool // the answer; the wire
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1<<16)
		for {
			n, err := server.Read(b)
			if lost.Load() || err != nil {
				if !cutting.Load() && !lost.Load() {
					client.Close()
				}
				return
			}
			if _, err := client.Write(b[:n]); err != nil {
				return
			}
		}
	}()
	b := make([]byte, 1<<16)
	var commit []byte
	for {
		n, err := client.Read(b)
		if err != nil {
			break
		}
		if prepared := commitPrepared.FindSubmatch(b[:n]); prepared != nil {
			commit = append(append([]byte{0}, prepared[1]...), 0) // as a Bind message names it, after an unnamed portal
		}
		if commit != nil && bytes.Contains(b[:n], commit) {
			how := c.cut.Swap(passes)
			cutting.Store(how != passes)
			if lost.Store(how == answerLost); how == requestLost {
				break
			}
		}
		if _, err := server.Write(b[:n]); err != nil {
			break
		}
		if lost.Load() {
			<-done // the server has answered, so it has committed
			break
		}
	}
	server.Close()
	<-done
	if cutting.Load() && c.after != nil { // before the client notices
		c.after()
	}
}

// through returns dsn by way of the cutter.
func (c *cutter) through(dsn string) string { return strings.Replace(dsn, c.to, c.Addr().String(), 1) }

// badWire is a wire to the server that breaks within a reply, falls silent, or changes the language
// of errors.
type badWire struct {
	net.Listener
	to      string
	left    atomic.Int64 // bytes of replies until it breaks once; 0: it does not
	opened  atomic.Int64 // connections so far
	silent  atomic.Int64 // this many of the first connections are silent
	unheard atomic.Int64 // silent connections to which something was said
	foreign atomic.Bool  // translates the server's ERROR
	ended   sync.WaitGroup
}

func newBadWire(t *testing.T) *badWire {
	t.Helper()
	w := &badWire{to: server(t).Addr}
	w.Listener = relay(t, &w.ended, w.carry)
	return w
}

func (w *badWire) carry(client net.Conn) {
	defer client.Close()
	nth := w.opened.Add(1)
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	w.ended.Go(func() {
		defer server.Close()
		b, said := make([]byte, 1<<16), false
		for {
			n, err := client.Read(b)
			if err != nil {
				return
			}
			if nth <= w.silent.Load() {
				if !said {
					w.unheard.Add(1)
				}
				said = true
				continue // the connection stays open
			}
			if _, err := server.Write(b[:n]); err != nil {
				return
			}
		}
	})
	b := make([]byte, 1<<16)
	for {
		n, err := server.Read(b)
		if err != nil {
			return
		}
		reply, breaks := b[:n], false
		if w.foreign.Load() {
			reply = bytes.ReplaceAll(reply, []byte("SERROR\x00"), []byte("SFEHLR\x00"))
		}
		if left := w.left.Load(); left > 0 {
			breaks = left <= int64(n)
			w.left.Store(max(0, left-int64(n)))
			if breaks {
				reply = reply[:left]
			}
		}
		if _, err := client.Write(reply); err != nil || breaks {
			return
		}
	}
}

// open opens the ledger of a fresh database by way of the wire.
func (w *badWire) open(t *testing.T) *Ledger {
	t.Helper()
	return openAt(t, strings.Replace(migrated(t), w.to, w.Addr().String(), 1), ledger.Options{Sender: true})
}

// breakingWire is a wire to the server that breaks at commits of intents, and counts its
// connections.
type breakingWire struct {
	net.Listener
	to    string
	ended sync.WaitGroup

	mu       sync.Mutex
	opened   int
	breaks   int   // commits that are still to break
	broken   []int // the connections that broke
	readBack []int // the connections that read a mark back
	deaf     int   // reads of a mark that are still to break
}

func newBreakingWire(t *testing.T) *breakingWire {
	t.Helper()
	w := &breakingWire{to: server(t).Addr}
	w.Listener = relay(t, &w.ended, w.carry)
	return w
}

func (w *breakingWire) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer server.Close()
	w.mu.Lock()
	w.opened++
	own, intends := w.opened, false
	w.mu.Unlock()
	w.ended.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
	})
	hear(client, func(kind byte, query string, message []byte) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case kind == 'E' && query == sqlMoveMarks:
			intends = true
		case kind == 'E' && query == sqlReadBack:
			w.readBack = append(w.readBack, own)
			if w.deaf > 0 {
				w.deaf--
				return false
			}
		case kind == 'B' && query == sqlCommit && intends:
			if intends = false; w.breaks > 0 {
				w.breaks--
				w.broken = append(w.broken, own)
				return false
			}
		}
		_, err := server.Write(message)
		return err == nil
	})
}

// open opens a ledger through the wire, with two idle connections for sending.
func (w *breakingWire) open(t *testing.T) *Ledger {
	t.Helper()
	l := openAt(t, strings.Replace(migrated(t), w.to, w.Addr().String(), 1), ledger.Options{Sender: true})
	idle(t, l.sender, 2)
	return l
}

// hear reads the messages of a client until it ends or take returns false. query is the statement
// that a message is about.
func hear(client io.Reader, take func(kind byte, query string, message []byte) bool) {
	prepared, bound := map[string]string{}, ""
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first { // the first message has no kind
			head = head[1:]
		}
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		kind, query := byte(0), ""
		if !first {
			kind = head[0]
		}
		texts := bytes.SplitN(body, []byte{0}, 3)
		switch kind {
		case 'P': // Parse: the statement's name, the query
			query = string(texts[1])
			prepared[string(texts[0])] = query
		case 'B': // Bind: the portal, the statement's name
			bound = prepared[string(texts[1])]
			query = bound
		case 'E': // Execute: the portal
			query = bound
		case 'Q':
			query = string(texts[0])
		}
		if !take(kind, query, append(head, body...)) {
			return
		}
	}
}

// idle gives a pool n idle connections.
func idle(t *testing.T, p *connect.Pool, n int) {
	t.Helper()
	var all []*connect.Conn
	for range n {
		c, err := p.Acquire(t.Context())
		if err != nil {
			t.Fatalf("connecting: %v; want no error", err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		p.Release(c)
	}
}
