package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/redistest"
)

// used is a ledger that counts n.
func used(n *int64) func(context.Context, throttle.Quota) (int64, error) {
	return func(context.Context, throttle.Quota) (int64, error) { return *n, nil }
}

// hour is a quota of an hour that begins now.
func hour(limit int64) throttle.Quota {
	now := time.Now()
	return throttle.Quota{Key: "plan:co", From: now, To: now.Add(time.Hour), Limit: limit}
}

// all draws until the quota is empty.
func all(t *testing.T, s *throttle.Stock, q throttle.Quota) (n int) {
	t.Helper()
	for {
		d, err := s.Draw(t.Context(), q, 7, false)
		if err != nil {
			t.Fatalf("draw: got %v, want nil", err)
		}
		if d.Empty {
			return n
		}
		if n += d.N; d.N == 0 {
			time.Sleep(time.Until(d.At))
		}
	}
}

// Three numbers of a process die with a chunk in hand. At most those chunks are stranded, and
// they are found again when the empty quota is counted anew.
func TestADeadSenderStrandsAtMostAChunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, q, sent := throttle.NewLocal(), hour(2000), int64(0)
		for range 3 {
			d, err := throttle.NewStock(l, used(&sent)).Draw(t.Context(), q, 1, false)
			if err != nil || d.N != 1 {
				t.Fatalf("draw: got %+v and %v, want one unit", d, err)
			}
			sent++
		}
		s := throttle.NewStock(l, used(&sent))
		sent += int64(all(t, s, q))
		if least := int64(2000 - 3*throttle.Chunk); sent < least || sent >= 2000 {
			t.Errorf("sent %d with three chunks stranded, want %d or more, below 2000", sent, least)
		}
		time.Sleep(11 * time.Minute)
		if sent += int64(all(t, s, q)); sent != 2000 {
			t.Errorf("sent %d after the quota was counted again, want 2000", sent)
		}
	})
}

func TestAStockGivesBackWhatItDoesNotUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, q, sent := throttle.NewLocal(), hour(16), int64(0)
		one, other := throttle.NewStock(l, used(&sent)), throttle.NewStock(l, used(&sent))
		draw := func(s *throttle.Stock, n int) throttle.Drawn {
			t.Helper()
			d, err := s.Draw(t.Context(), q, n, false)
			if err != nil {
				t.Fatalf("draw: got %v, want nil", err)
			}
			return d
		}
		first := draw(one, 10)
		one.PutBack(first, 4)
		if d := draw(other, 1); first.N != 10 || !d.Empty || d.N != 0 {
			t.Fatalf("one has %d units and the other got %+v, want 10 and none", first.N, d)
		}
		one.Refund(first.Generation)
		if err := one.Tidy(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(throttle.UnitsFor) // longer than an empty quota is not asked again
		if d := draw(other, 5); d.N != 1 {
			t.Errorf("after a refund: got %d units, want 1", d.N)
		}
		if err := one.Tidy(t.Context(), false); err != nil { // what is in hand is over
			t.Fatal(err)
		}
		time.Sleep(throttle.UnitsFor)
		if d := draw(other, 20); d.N != 10 {
			t.Errorf("after the units of the other were over: got %d units, want 10", d.N)
		}
		draw(one, 1)
		other.PutBack(first, 3) // from another hand: only the next question gives them back
		if err := other.Tidy(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(throttle.UnitsFor)
		if d := draw(one, 20); d.N != 3 {
			t.Errorf("after the other left: got %d units, want 3", d.N)
		}
	})
}

// A count that cannot be made is asked for again, and nothing is leased meanwhile.
func TestWithoutTheLedgerNothingIsLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("the ledger is away")
		s := throttle.NewStock(throttle.NewLocal(), func(context.Context, throttle.Quota) (int64, error) {
			if away != nil {
				return 0, away
			}
			return 5, nil
		})
		q := hour(10)
		if d, err := s.Draw(t.Context(), q, 1, false); !errors.Is(err, away) || d.N != 0 {
			t.Errorf("draw: got %+v and %v, want no unit and the ledger's error", d, err)
		}
		away = nil
		if n := all(t, s, q); n != 5 {
			t.Errorf("drawn when the ledger is back: got %d units, want 5", n)
		}
	})
}

// A server that comes back with its memory may have lost the last second of it.
func TestARestartedServerLeasesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const rebuild = 300 * time.Millisecond
	c := counters(t, server, 1, rebuild).Counters[0]
	sent := int64(0)
	q := hour(1000)
	if d, err := throttle.NewStock(c, used(&sent)).Draw(t.Context(), q, 1, false); err != nil || d.N > 1 {
		t.Fatalf("draw: got %+v and %v, want a unit or a wait", d, err)
	}
	<-time.After(rebuild)
	if d, err := throttle.NewStock(c, used(&sent)).Draw(t.Context(), q, 1, false); err != nil || d.N != 1 {
		t.Fatalf("draw: got %+v and %v, want one unit", d, err)
	}
	// The count with the marker of another server: as after a restart with a file of the memory, or in
	// a replica that became master.
	server.Do("HSET", "{c:plan:co}:units", "run", "0123456789")
	u, err := c.Take(t.Context(), q, throttle.Ask{N: 10})
	if err != nil || u.N != 0 || u.Rebuild != 0 || u.Wait <= 0 {
		t.Errorf("with the count of another server: got %+v and %v, want a wait", u, err)
	}
	server.Kill()
	if _, err := c.Take(t.Context(), q, throttle.Ask{N: 10}); !errors.Is(err, throttle.ErrUnavailable) {
		t.Errorf("without a server: got %v, want ErrUnavailable", err)
	}
	if _, err := c.Restore(t.Context(), q, 1, 1); !errors.Is(err, throttle.ErrUnavailable) {
		t.Errorf("restore without a server: got %v, want ErrUnavailable", err)
	}
}

func BenchmarkDraw(b *testing.B) {
	count := func(context.Context, throttle.Quota) (int64, error) { return 0, nil }
	s := throttle.NewStock(throttle.NewLocal(), count)
	now := time.Now()
	q := throttle.Quota{Key: "plan:co", From: now, To: now.Add(time.Hour), Limit: 1 << 40}
	for b.Loop() {
		if d, err := s.Draw(context.Background(), q, 4, false); err != nil || d.N == 0 {
			b.Fatal(d, err)
		}
	}
}

func ExampleStock() {
	accepted := func(context.Context, throttle.Quota) (int64, error) { return 97, nil } // what the ledger counts
	stock := throttle.NewStock(throttle.NewLocal(), accepted)
	now := time.Now()
	plan := throttle.Quota{Key: "plan:co_1", From: now, To: now.Add(time.Hour), Limit: 100}
	for range 2 {
		drawn, err := stock.Draw(context.Background(), plan, 10, false)
		fmt.Println(drawn.N, drawn.Empty, err)
	}
	// Output:
	// 3 false <nil>
	// 0 true <nil>
}
