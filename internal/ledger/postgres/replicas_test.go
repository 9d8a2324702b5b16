//go:build unix

package postgres

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/throttle/throttletest"

	"github.com/jackc/pgx/v5"
)

// service counts the deliveries that replicas were allowed to post, and sends their statuses in any
// order.
type service struct {
	mu     sync.Mutex
	posted map[int64]int
	events []campaign.StatusEvent
}

func (s *service) post(t *testing.T, no campaign.RunNo, from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for seq := from; seq < to; seq++ {
		if s.posted[seq]++; s.posted[seq] > 1 {
			t.Errorf("seq %d was granted %d times; want at most once", seq, s.posted[seq])
		}
		for _, st := range []campaign.Status{campaign.Sent, campaign.Delivered, campaign.Read} {
			s.events = append(s.events, campaign.StatusEvent{
				MessageID: ledgertest.MessageID(no, seq), Status: st, At: time.Now(), Recipient: 2348030000000 + seq})
		}
	}
}

// batch takes up to n of the waiting events, at random.
func (s *service) batch(rng *rand.Rand, n int) []campaign.StatusEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	rng.Shuffle(min(len(s.events), 500), func(i, j int) { s.events[i], s.events[j] = s.events[j], s.events[i] })
	n = min(n, len(s.events))
	es := s.events[:n:n]
	s.events = s.events[n:]
	return es
}

// Three replicas send one run. Their leases end at once, so they take segments from each other all
// the time. Webhooks arrive with the receipts and before them, and all replicas sweep.
func TestReplicasSendOneRunOnceAndLoseNoStatus(t *testing.T) {
	t.Parallel()
	const n = 2 * campaign.SegmentSize
	dsn := migrated(t)
	var replicas []*Ledger
	for range 3 {
		replicas = append(replicas, openAt(t, dsn, ledger.Options{Sender: true}))
	}
	r := ledgertest.Load(t, replicas[0], n)
	world := &service{posted: map[int64]int{}}
	sending, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var senders, others sync.WaitGroup
	for i, l := range replicas {
		senders.Go(func() { sendAll(t, sending, l, r.No, world, uint64(i)) })
		others.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			for last := false; ; {
				es := world.batch(rng, 1+rng.IntN(200))
				if len(es) > 0 {
					if _, err := l.Apply(t.Context(), campaign.Events{Statuses: es}); err != nil {
						t.Error(err)
					}
				} else if last {
					return
				}
				last = sending.Err() != nil && len(es) == 0
			}
		})
		others.Go(func() {
			for sending.Err() == nil {
				if _, err := l.Sweep(t.Context(), time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	cancel()
	others.Wait()
	for range 2 { // the sweep may have passed the last orphans
		if _, err := replicas[0].Sweep(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if len(world.posted) != n {
		t.Errorf("%d deliveries were posted; want %d", len(world.posted), n)
	}
	tallies, _, err := replicas[0].Tallies(t.Context(), r.No)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tallies {
		if x.Status != campaign.Read {
			t.Errorf("%d are %s %s, want all %d read", x.N, x.Status, x.Reason, n)
		}
	}
	if ps, _, err := replicas[0].Audit(t.Context(), r.No, 5); err != nil || len(ps) > 0 {
		t.Errorf("got %+v %v; want no error, none", ps, err)
	}
}

// sendAll is a simple replica: it claims, intends, posts and records until the run is done.
func sendAll(t *testing.T, ctx context.Context, l *Ledger, no campaign.RunNo, world *service, seed uint64) {
	rng := rand.New(rand.NewPCG(1, seed))
	for ctx.Err() == nil {
		ls, err := l.Claim(ctx, campaign.Claim{
			Owner: "r", Connection: "conn_1", Runs: []campaign.RunNo{no}, Max: 1, Lease: 20 * time.Millisecond})
		if err != nil {
			t.Error(err)
			return
		}
		if len(ls) == 0 {
			states, err := l.SegmentStates(ctx, no)
			if err != nil {
				t.Error(err)
				return
			}
			done := true
			for _, s := range states {
				done = done && s.Done
			}
			if done {
				return
			}
			continue
		}
		s := ls[0]
		if s.Recovered {
			if _, err := l.Recover(ctx, s, time.Now()); err != nil {
				continue // another replica took it
			}
		}
		for s.Mark < s.Hi {
			to := min(s.Hi, s.Mark+1+rng.Int64N(256))
			g, err := l.Intend(ctx, []campaign.Intent{{Lease: s, Connection: "conn_1", From: s.Mark, To: to}})
			if err != nil {
				t.Error(err)
				return
			}
			if g[0].Fenced {
				break
			}
			world.post(t, no, s.Mark, to)
			if err := l.Record(ctx, ledgertest.Acceptances(s, s.Mark, to)); err != nil {
				t.Error(err)
				return
			}
			s.Mark = to
		}
		_, _ = l.Park(ctx, s, time.Time{}, ledgertest.After(time.Minute)) // ErrFenced when it was taken over
	}
	t.Error("the run is not done; want it done within 2 minutes")
}

func TestReplicasShareABudgetToTheLast(t *testing.T) {
	const limit = 1000
	dsn := migrated(t)
	first := openAt(t, dsn, ledger.Options{Sender: true})
	r, err := first.CreateRun(t.Context(), campaign.Run{Campaign: "capped", ListHash: "x", Budget: limit})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(4) {
		lo := i * campaign.SegmentSize
		hi := lo + campaign.SegmentSize
		segments := []campaign.Segment{{Run: r.No, Index: i, Lo: lo, Hi: hi}}
		if err := first.AppendRows(t.Context(), r.No, lo, ledgertest.Rows(lo, hi), segments); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.FinishImport(t.Context(), r.No, 4*campaign.SegmentSize, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	var granted atomic.Int64
	var sending sync.WaitGroup
	for i := range 4 {
		l := openAt(t, dsn, ledger.Options{Sender: true})
		ls, err := l.Claim(t.Context(), campaign.Claim{Owner: "r", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: time.Hour})
		if err != nil || len(ls) != 1 {
			t.Fatalf("got %+v, %v; want no error, length 1", ls, err)
		}
		sending.Go(func() {
			rng := rand.New(rand.NewPCG(3, uint64(i)))
			for s := ls[0]; s.Mark < s.Hi; {
				to := min(s.Hi, s.Mark+1+rng.Int64N(30))
				g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", From: s.Mark, To: to}})
				if err != nil {
					t.Error(err)
					return
				}
				granted.Add(g[0].To - s.Mark)
				if s.Mark = g[0].To; g[0].Denied {
					return
				}
			}
		})
	}
	sending.Wait()
	if got, err := first.Run(t.Context(), r.No); granted.Load() != limit || err != nil || got.Taken != limit {
		t.Errorf("granted %d, counted %d, %v; want %d", granted.Load(), got.Taken, err, limit)
	}
}

// A sweep that absorbs an early status and a webhook with a later status of the same message lock
// the outcome and the run in one order. When they locked in two orders, each waited for the other
// until its time limit.
func TestASweepAndAWebhookOfOneMessageNeverDeadlock(t *testing.T) {
	dsn := migrated(t)
	l := openAt(t, dsn, ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 20)
	ls := ledgertest.ClaimAll(t, l, r.No)
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: ls[0], Connection: "conn_1", To: 10}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Record(t.Context(), ledgertest.Acceptances(ls[0], 0, 10)); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := c.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`UPDATE run_event SET event_at = 0`)
	exec(`INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code)
		SELECT mh, message_id, 1 /* sent */, 1, 1, 0, '', '' FROM outcome WHERE message_id IN ($1, $2)`,
		ledgertest.MessageID(r.No, 3), ledgertest.MessageID(r.No, 7))
	exec(`BEGIN`)
	// The sweep locks 3 and waits for 7.
	exec(`SELECT 1 FROM outcome WHERE message_id = $1 FOR UPDATE`, ledgertest.MessageID(r.No, 7))
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := l.Sweep(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
	})
	awaitWaiting(t, l, 1)
	var ended time.Time
	both.Go(func() {
		_, err := l.Apply(t.Context(), statusOfMessage(ledgertest.MessageID(r.No, 3), campaign.Delivered))
		if ended = time.Now(); err != nil {
			t.Error(err)
		}
	})
	awaitWaiting(t, l, 2)
	freed, watched := time.Now(), throttletest.Watch() // a busy machine may have needed long until here
	exec(`COMMIT`)
	both.Wait()
	throttletest.Soon(t, "the webhook", ended.Sub(freed), 700*time.Millisecond, watched()) // lock_timeout is a second
}

// awaitWaiting returns when n sessions of the ledger wait for a lock.
func awaitWaiting(t *testing.T, l *Ledger, n int64) {
	t.Helper()
	const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		var have int64
		if err := l.read(t.Context(), l.reports, row(&have, waiting)); err != nil {
			t.Fatal(err)
		}
		if have >= n {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%d sessions wait for a lock; want %d", have, n)
		}
	}
}
