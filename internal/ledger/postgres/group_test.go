//go:build unix

package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// callOf is a call for the first n deliveries of a segment.
func callOf(s campaign.Lease, connection string, n int64) *intentCall {
	return &intentCall{in: []campaign.Intent{{Lease: s, Connection: connection, From: s.Lo, To: s.Lo + n}}}
}

// writers returns the transactions that last wrote the segments of a run, each with their number.
func writers(t *testing.T, l *Ledger, no campaign.RunNo) map[string]int {
	t.Helper()
	found := map[string]int{}
	if err := l.read(t.Context(), l.reports, each(func(scan scanFunc) error {
		var xmin string
		err := scan(&xmin)
		found[xmin]++
		return err
	}, `SELECT xmin::text FROM segment WHERE run = $1`, int64(no))); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestIntentsOfSeveralNumbersShareACommit(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 4*campaign.SegmentSize)
	var calls []*intentCall
	for i, s := range ledgertest.ClaimAll(t, l, r.No) {
		calls = append(calls, callOf(s, []string{"a", "b", "c", "d"}[i], int64(10+i)))
	}
	l.commitGroup(t.Context(), calls)
	for i, c := range calls {
		if want := c.in[0].To; c.err != nil || len(c.granted) != 1 || c.granted[0].To != want {
			t.Errorf("call %d: %+v, %v; want its own answer, granted up to %d", i, c.granted, c.err, want)
		}
	}
	if got := writers(t, l, r.No); len(got) != 1 {
		t.Errorf("the segments were written by %d transactions (%v), want 1", len(got), got)
	}
}

func TestAMalformedIntentFailsAlone(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 3*campaign.SegmentSize)
	s := ledgertest.ClaimAll(t, l, r.No)
	good, bad, other := callOf(s[0], "a", 10), callOf(s[1], "", 10), callOf(s[2], "b", 10)
	l.commitGroup(t.Context(), []*intentCall{good, bad, other})
	for _, c := range []*intentCall{good, other} {
		if c.err != nil || len(c.granted) != 1 || c.granted[0].To != c.in[0].To {
			t.Errorf("beside a malformed intent: %+v, %v; want it granted", c.granted, c.err)
		}
	}
	if want := "an intent needs a connection"; bad.err == nil || !strings.Contains(bad.err.Error(), want) || bad.granted != nil {
		t.Errorf("the malformed one: %+v, %v; want nothing granted and an error with %q", bad.granted, bad.err, want)
	}
}

// A caller whose context has ended does not end the transaction of the others.
func TestAnEndedCallerEndsNoOthersIntent(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 2*campaign.SegmentSize)
	s := ledgertest.ClaimAll(t, l, r.No)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	mine, others := callOf(s[0], "a", 10), callOf(s[1], "b", 10)
	l.commitGroup(ended, []*intentCall{mine, others})
	for _, c := range []*intentCall{mine, others} {
		if c.err != nil || len(c.granted) != 1 || c.granted[0].To != c.in[0].To {
			t.Errorf("%s: %+v, %v; want it granted", c.in[0].Connection, c.granted, c.err)
		}
	}
	next := campaign.Intent{Lease: s[0], Connection: "a", From: s[0].Lo + 10, To: s[0].Lo + 20}
	if _, err := l.Intend(ended, []campaign.Intent{next}); !errors.Is(err, context.Canceled) {
		t.Errorf("alone: %v, want %v", err, context.Canceled)
	}
}

func TestOneNumberWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s intentGroups
		began := time.Now()
		for range 3 {
			g, first := s.join(callOf(campaign.Lease{}, "a", 1), time.Now())
			if !first {
				t.Fatal("a call joined a group that was complete, want a group of its own")
			}
			s.linger(t.Context(), g)
			if took := time.Since(began); took != 0 {
				t.Errorf("the call waited %v, want no wait: no other number sends", took)
			}
			time.Sleep(groupRecent / 5)
			began = time.Now()
		}
	})
}

func TestNumbersThatSendAreWaitedForBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s intentGroups
		ask := func(connection string, n int64) (*intentGroup, bool) {
			return s.join(callOf(campaign.Lease{}, connection, n), time.Now())
		}
		waits := func(g *intentGroup) time.Duration {
			began := time.Now()
			s.linger(t.Context(), g)
			return time.Since(began)
		}
		ask("a", 1)
		g, first := ask("b", 1) // "a" asked a moment ago
		if took := waits(g); !first || took != groupLinger {
			t.Errorf("a new group: %v, it waited %v; want %v for the other number", first, took, groupLinger)
		}
		g, _ = ask("a", 1)
		if same, first := ask("b", 1); same != g || first {
			t.Errorf("the other number: a group of its own: %v, want it to join", first)
		}
		if took := waits(g); took != 0 || len(g.calls) != 2 {
			t.Errorf("%d calls after %v, want both at once", len(g.calls), took)
		}
		if g, _ = ask("a", groupRows); waits(g) != 0 {
			t.Error("a group with enough deliveries waited, want it committed at once")
		}
		time.Sleep(groupRecent + time.Millisecond)
		if g, _ = ask("a", 1); waits(g) != 0 {
			t.Errorf("the call waited for a number that last asked more than %v ago, want no wait", groupRecent)
		}
	})
}

func TestACallLeavesAnOpenGroupOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s intentGroups
		s.asked = map[string]time.Time{"a": time.Now(), "b": time.Now(), "c": time.Now()}
		g, _ := s.join(callOf(campaign.Lease{}, "a", 1), time.Now())
		second := callOf(campaign.Lease{}, "b", 1)
		s.join(second, time.Now())
		if !s.leave(g, second) || len(g.calls) != 1 {
			t.Errorf("%d calls are left of an open group, want 1: one has left", len(g.calls))
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		s.linger(ended, g)
		if s.leave(g, g.calls[0]) {
			t.Error("a call left a group that is being committed, want it to wait for its answer")
		}
	})
}
