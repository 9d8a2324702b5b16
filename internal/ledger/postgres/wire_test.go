//go:build unix

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// cutter is a wire to the server that can be cut at a commit.
type cutter struct {
	net.Listener
	to     string
	cut    atomic.Int32 // what the next commits meet
	closed atomic.Bool  // nobody gets through
	after  func()       // called when it was cut
	ended  sync.WaitGroup
}

const (
	passes      = iota
	answerLost  // the server commits, and we never hear of it
	requestLost // the server never hears of it
)

// commitPrepared finds the name under which a connection prepares its commits.
var commitPrepared = regexp.MustCompile(`(stmtcache_[0-9a-f]+)\x00commit\x00`)

func newCutter(t *testing.T, to string) *cutter {
	t.Helper()
	c := &cutter{to: to}
	c.Listener = relay(t, &c.ended, c.carry)
	return c
}

// relay gives each connection that comes in to carry, until the test ends; then it waits for all that ended counts.
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
			commit = append(append([]byte{0}, prepared[1]...), 0) // as a Bind names it: behind an unnamed portal
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
			<-done // the server has answered: it is committed
			break
		}
	}
	server.Close()
	<-done
	if cutting.Load() && c.after != nil { // before the client hears of it
		c.after()
	}
}

// through is dsn by way of the cutter.
func (c *cutter) through(dsn string) string { return strings.Replace(dsn, c.to, c.Addr().String(), 1) }

func TestACommitWhoseAnswerIsLostIsReadBack(t *testing.T) {
	t.Parallel()
	dsn := migrated(t)
	wire := newCutter(t, server(t).Addr)
	l := openAt(t, wire.through(dsn), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 100)
	ls := ledgertest.ClaimAll(t, l, r.No)
	from := int64(0)
	wasCut := func(what string) {
		t.Helper()
		if wire.cut.Load() != passes {
			t.Errorf("the commit of %s was not cut; want wire.cut.Load() %+v", what, passes)
		}
	}
	for i, how := range []int32{answerLost, requestLost, answerLost, requestLost} {
		wire.cut.Store(how)
		in := campaign.Intent{Lease: ls[0], Connection: "conn_1", From: from, To: from + 10}
		g, err := l.Intend(t.Context(), []campaign.Intent{in})
		if err != nil || g[0].Fenced || g[0].To != from+10 {
			t.Fatalf("cut %d: %+v %v; want no error, not Fenced, To %+v", i, g, err, from+10)
		}
		wasCut("an intent")
		from += 10
		wire.cut.Store(how)
		if err := l.Record(t.Context(), append(ledgertest.Acceptances(ls[0], from-10, from-1),
			campaign.Result{Run: r.No, Seq: from - 1, Attempt: 1, Kind: campaign.ResultDeferred, Counts: true})); err != nil {
			t.Fatal(err)
		}
		wasCut("results")
		wire.cut.Store(how)
		due, err := l.Due(t.Context(), ls[0], time.Now(), 10)
		if err != nil || len(due) != 1 || due[0].Tries != 1 {
			t.Fatalf("got %+v %v; want no error, length 1, Tries 1", due, err)
		}
		g, err = l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", From: from, To: from, Retries: due}})
		if err != nil || g[0].Fenced || g[0].Held || len(g[0].Skipped) > 0 {
			t.Fatalf("a retry, cut %d: %+v %v; want no error, not Fenced, not Held, none", i, g, err)
		}
		wasCut("a retry")
		if err := l.Record(t.Context(), []campaign.Result{{Run: r.No, Seq: from - 1, Attempt: 2, Kind: campaign.ResultAccepted, MessageID: fmt.Sprint("second", from)}}); err != nil {
			t.Fatal(err)
		}
		wire.cut.Store(how)
		if a, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: ledgertest.MessageID(r.No, from-5), Status: campaign.Sent, At: time.Now()}}}); err != nil {
			t.Fatalf("got %+v, %v; want no error", a, err)
		}
		wasCut("statuses")
		wire.cut.Store(how)
		if _, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: fmt.Sprint("cut", i)}); err != nil {
			t.Fatal(err)
		}
		wasCut("a run")
	}
	imported, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "import"})
	if err != nil {
		t.Fatal(err)
	}
	for lo := int64(0); lo < 40; lo += 10 {
		wire.cut.Store([]int32{answerLost, requestLost}[lo/10%2])
		if err := l.AppendRows(t.Context(), imported.No, lo, ledgertest.Rows(lo, lo+10), []campaign.Segment{{Run: imported.No, Hi: lo + 10}}); err != nil {
			t.Fatal(err)
		}
		wasCut("rows")
	}
	if err := l.FinishImport(t.Context(), imported.No, 40, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Run(t.Context(), r.No); err != nil || got.Taken != 40 {
		t.Errorf("got %+v %v; want no error, Taken 40", got, err)
	}
	if ps, err := l.Audit(t.Context(), r.No, 5); err != nil || len(ps) > 0 {
		t.Errorf("got %+v %v; want no error, none", ps, err)
	}
}

// A retry that is suppressed leaves its segment as it was: it must not tell that the commit did not happen, while
// another number's group of the same transaction was granted.
func TestASuppressedRetryDoesNotTellThatACommitVanished(t *testing.T) {
	wire := newCutter(t, server(t).Addr)
	l := openAt(t, wire.through(migrated(t)), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 2*campaign.SegmentSize)
	ls := ledgertest.ClaimAll(t, l, r.No)
	for i := range int64(6) { // a map's order decides who is asked
		from, other := i*10, ls[1].Lo+i*10
		if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", From: from, To: from + 10}}); err != nil {
			t.Fatal(err)
		}
		if err := l.Record(t.Context(), append(ledgertest.Acceptances(ls[0], from+1, from+10),
			campaign.Result{Run: r.No, Seq: from, Attempt: 1, Kind: campaign.ResultDeferred, Counts: true})); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Suppress(t.Context(), []campaign.Suppression{{Key: 2348030000000 + from, Scope: campaign.ScopeAll}}); err != nil {
			t.Fatal(err)
		}
		due, err := l.Due(t.Context(), ls[0], time.Now(), 10)
		if err != nil || len(due) != 1 {
			t.Fatalf("got %+v, %v; want no error, length 1", due, err)
		}
		wire.cut.Store(answerLost)
		suppressed := campaign.Intent{Lease: ls[0], Connection: "conn_1", From: from + 10, To: from + 10, Retries: due}
		g, err := l.Intend(t.Context(), []campaign.Intent{suppressed, {Lease: ls[1], Connection: "conn_2", From: other, To: other + 10}})
		if err != nil || g[1].Fenced || g[1].To != other+10 {
			t.Errorf("got %+v %v; want no error, not Fenced, To %+v", g, err, other+10)
		}
		if wire.cut.Load() != passes {
			t.Error("the commit was not cut")
		}
		due, err = l.Due(t.Context(), ls[0], time.Now(), 10)
		if err != nil || len(due) != 0 {
			t.Errorf("the suppressed retry is still due: %+v %v; want no error, length 0", due, err)
		}
	}
}

// Whoever is asked to end in the midst of an intent knows whether it was committed, so that what it did before is handed back.
func TestAnIntentThatIsCancelledIsNotUnknown(t *testing.T) {
	l := openAt(t, migrated(t), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, campaign.SegmentSize)
	ls := ledgertest.ClaimAll(t, l, r.No)
	from, cut := int64(0), 0
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(i%100)*20*time.Microsecond, cancel)
		g, err := l.Intend(ctx, []campaign.Intent{{Lease: ls[0], Connection: "conn_1", From: from, To: from + 10}})
		timer.Stop()
		cancel()
		if err == nil && g[0].To == from+10 {
			from += 10
			continue
		}
		cut++
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %+v %v; want context.Canceled", g, err)
		}
		if g, err = l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", From: from, To: from + 10}}); err != nil || g[0].To != from+10 {
			t.Fatalf("cut %d had been committed, or nobody knows: %+v %v; want no error, To %+v", cut, g, err, from+10)
		}
		from += 10
	}
	if t.Logf("%d of 200 were cancelled in the midst", cut); cut == 0 {
		t.Error("none was cancelled in the midst")
	}
}

// takenOver is an Intend whose commit never reached the server, and while its sender could not
// ask, another replica took the segment and moved the mark to the same place.
func takenOver(t *testing.T) ([]campaign.Granted, error) {
	dsn := migrated(t)
	wire := newCutter(t, server(t).Addr)
	l := openAt(t, wire.through(dsn), ledger.Options{Sender: true})
	other := openAt(t, dsn, ledger.Options{Sender: true})
	r := ledgertest.Load(t, other, 100)
	claim := campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: -time.Second}
	ls, err := l.Claim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	wire.after = func() {
		ls, err := other.Claim(context.Background(), claim)
		for deadline := time.Now().Add(5 * time.Second); err == nil && len(ls) == 0 && time.Now().Before(deadline); { // the dead connection's lock
			ls, err = other.Claim(context.Background(), claim)
		}
		if err == nil {
			_, err = other.Intend(context.Background(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", To: 10}})
		}
		if err != nil {
			t.Error(err)
		}
		wire.closed.Store(false)
	}
	wire.closed.Store(true) // for new connections
	wire.cut.Store(requestLost)
	return l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", To: 10}})
}

func TestAnotherOwnersMarkIsNotTakenForOurs(t *testing.T) {
	if g, err := takenOver(t); !errors.Is(err, campaign.ErrUnknownCommit) {
		t.Errorf("%+v %v, want ErrUnknownCommit", g, err)
	}
}
