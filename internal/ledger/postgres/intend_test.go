//go:build unix

package postgres

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// An intent whose commit did not happen is tried five times. Then it fails, and nothing is granted.
func TestAnIntentIsTriedFiveTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		breaks, broken int
		want           error
	}{{4, 4, nil}, {5, 5, campaign.ErrUnknownCommit}, {100, 5, campaign.ErrUnknownCommit}} {
		w := newBreakingWire(t)
		l := w.open(t)
		r := ledgertest.Load(t, l, 100)
		lease := ledgertest.ClaimAll(t, l, r.No)[0]
		w.mu.Lock()
		w.breaks, w.broken = c.breaks, nil
		w.mu.Unlock()
		in := []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}}
		_, err := l.Intend(t.Context(), in)
		w.mu.Lock()
		broken := len(w.broken)
		w.breaks = 0
		w.mu.Unlock()
		if !errors.Is(err, c.want) || broken != c.broken {
			t.Errorf("%d breaks: got %v after %d broken commits; want %v after %d", c.breaks, err, broken, c.want, c.broken)
		}
		if c.want == nil {
			continue
		}
		if g, err := l.Intend(t.Context(), in); err != nil || g[0].Fenced || g[0].To != 10 {
			t.Errorf("%d breaks, asked again: got %+v, %v; want it granted to 10", c.breaks, g, err)
		}
	}
}

// When a commit breaks, the idle connections count as broken too: the mark is read back over a new
// one.
func TestABrokenCommitIsReadBackOverANewConnection(t *testing.T) {
	t.Parallel()
	w := newBreakingWire(t)
	l := w.open(t)
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	w.mu.Lock()
	before := w.opened
	w.breaks, w.broken, w.readBack = 1, nil, nil
	w.mu.Unlock()
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}})
	if err != nil || g[0].To != 10 {
		t.Errorf("got %+v, %v; want it granted to 10", g, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.broken) != 1 || len(w.readBack) != 1 || slices.Min(w.readBack) <= before {
		t.Errorf("broke on connections %v, read back on %v; want one each, the second above %d", w.broken, w.readBack, before)
	}
}

// A mark is read back until the server answers, each time over another connection.
func TestABrokenCommitIsReadBackUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	w := newBreakingWire(t)
	l := w.open(t)
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	w.mu.Lock()
	w.breaks, w.deaf, w.readBack = 1, 3, nil
	w.mu.Unlock()
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}})
	if err != nil || g[0].To != 10 {
		t.Errorf("got %+v, %v; want it granted to 10", g, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if asked := slices.Compact(slices.Clone(w.readBack)); len(w.readBack) != 4 || len(asked) != 4 {
		t.Errorf("asked over connections %v; want four", w.readBack)
	}
}

// A commit that wrote nothing needs no read-back, and a commit that granted nothing may be
// repeated.
func TestNothingGrantedNeedsNoReadBack(t *testing.T) {
	t.Parallel()
	l := &Ledger{} // it has no server
	for what, c := range map[string]struct {
		s    segment
		want commitState
	}{
		"nothing written":     {segment{mark: 5, from: 5}, committed},
		"a suppressed retry":  {segment{mark: 5, from: 5, wrote: true}, vanished},
		"a mark not written":  {segment{mark: 9, from: 5}, committed},
		"retries not written": {segment{mark: 5, from: 5, retried: []int64{1}}, committed},
	} {
		g := &grants{segments: map[int64]*segment{1: &c.s}}
		if got := l.readBack(t.Context(), g); got != c.want {
			t.Errorf("%s: commit state %d; want %d", what, got, c.want)
		}
	}
}

// A suppressed retry does not change its segment. The read-back must not conclude from it that the
// commit did not happen: another number's group of the same transaction was granted.
func TestASuppressedRetryDoesNotTellThatACommitVanished(t *testing.T) {
	wire := newCutter(t, server(t).Addr)
	l := openAt(t, wire.through(migrated(t)), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 2*campaign.SegmentSize)
	ls := ledgertest.ClaimAll(t, l, r.No)
	for i := range int64(6) { // the order of a map decides which segment is read back first
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
			t.Error("the commit was not cut, want it cut")
		}
		due, err = l.Due(t.Context(), ls[0], time.Now(), 10)
		if err != nil || len(due) != 0 {
			t.Errorf("the suppressed retry is still due: %+v %v; want no error, length 0", due, err)
		}
	}
}

// takenOver calls Intend, whose commit never reaches the server. Before its sender can read the
// mark back, another replica takes the segment and moves the mark to the same value.
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
		// The broken connection still has its lock for a moment.
		for deadline := time.Now().Add(2 * time.Minute); err == nil && len(ls) == 0 && time.Now().Before(deadline); {
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
