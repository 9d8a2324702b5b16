//go:build mutants && unix

package postgres

import (
	"errors"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// takeOver makes a run of four deliveries, two of them posted under a lease that ended at once. It
// returns that lease and the one that replaced it, before its Recover.
func takeOver(t *testing.T, l *Ledger) (r campaign.Run, old, fresh campaign.Lease) {
	t.Helper()
	r = ledgertest.Load(t, l, 4)
	claim := campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: -time.Second}
	ls, err := l.Claim(t.Context(), claim)
	if err != nil || len(ls) != 1 {
		t.Fatalf("got %+v, %v; want no error, length 1", ls, err)
	}
	old = ls[0]
	if g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: old, Connection: "conn_1", To: 2}}); err != nil {
		t.Fatalf("got %+v, %v; want no error", g, err)
	}
	if ls, err = l.Claim(t.Context(), claim); err != nil || len(ls) != 1 {
		t.Fatalf("got %+v, %v; want no error, length 1", ls, err)
	}
	return r, old, ls[0]
}

func statusOf(t *testing.T, l campaign.Ledger, no campaign.RunNo, seq int64) campaign.Status {
	t.Helper()
	for line, err := range l.Lines(t.Context(), no) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Seq == seq {
			return line.Status
		}
	}
	t.Fatalf("run %d has no seq %d, want it", no, seq)
	return ""
}

func apply(t *testing.T, l campaign.Ledger, id string, s campaign.Status) {
	t.Helper()
	event := campaign.StatusEvent{MessageID: id, Status: s, At: time.Now(), Recipient: 2348030000000, Code: "131049"}
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{event}}); err != nil {
		t.Fatal(err)
	}
}

// sweptWhileStored stores a status while a sweep runs, at the time between the two statements of
// the mutation, and reports whether the status was lost.
func sweptWhileStored(t *testing.T, l *Ledger) bool {
	r := ledgertest.Load(t, l, 2)
	s := ledgertest.ClaimAll(t, l, r.No)[0]
	if err := l.Record(t.Context(), ledgertest.Acceptances(s, 0, 2)); err != nil {
		t.Fatal(err)
	}
	// Such orphans remain when a webhook arrives at the same time as its receipt.
	orphaned := func(seq int64) *query {
		id := ledgertest.MessageID(r.No, seq)
		return stmt(nil, `INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code)
			VALUES ($1, $2, 3 /* delivered */, $3, $3, 0, '', '')`,
			l.key.MessageHash(id), id, ledger.Millis(time.Now()))
	}
	locker, err := l.reports.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.reports.Release(locker)
	if err := l.read(t.Context(), l.sender, orphaned(0)); err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), locker, stmt(nil, `BEGIN`),
		stmt(nil, `SELECT 1 FROM outcome WHERE rid = $1 FOR UPDATE`, ledger.RowID(r.No, 0))); err != nil {
		t.Fatal(err)
	}
	swept := make(chan error, 1)
	go func() {
		_, err := l.Sweep(t.Context(), time.Now())
		swept <- err
	}()
	awaitWaiting(t, l, 1)
	if err := l.read(t.Context(), l.sender, orphaned(1)); err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), locker, stmt(nil, `COMMIT`)); err != nil {
		t.Fatal(err)
	}
	if err := <-swept; err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := l.Sweep(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return statusOf(t, l, r.No, 1) != campaign.Delivered
}

// Each scene shows one mutation, and nothing without it. `make mutants` requires both.
func TestNoMutationShows(t *testing.T) {
	for name, shows := range map[string]func(*testing.T, *Ledger) bool{
		"no_epoch_in_swap": func(t *testing.T, l *Ledger) bool {
			_, old, _ := takeOver(t, l)
			g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: old, Connection: "conn_1", From: 2, To: 3}})
			return err == nil && !g[0].Fenced
		},
		"readback_without_epoch": func(t *testing.T, _ *Ledger) bool {
			_, err := takenOver(t)
			return !errors.Is(err, campaign.ErrUnknownCommit)
		},
		"results_fenced_away": func(t *testing.T, l *Ledger) bool {
			r, old, _ := takeOver(t, l)
			if err := l.Record(t.Context(), ledgertest.Acceptances(old, 0, 1)); err != nil {
				t.Fatal(err)
			}
			return statusOf(t, l, r.No, 0) != campaign.Accepted
		},
		"two_statement_sweeper": sweptWhileStored,
		"job_queue_rescue": func(t *testing.T, l *Ledger) bool {
			r, _, fresh := takeOver(t, l)
			if _, err := l.Recover(t.Context(), fresh, time.Now()); err != nil {
				t.Fatal(err)
			}
			return statusOf(t, l, r.No, 0) == campaign.Queued
		},
		"asynchronous_commit": func(t *testing.T, _ *Ledger) bool {
			s := own(t, "wal_writer_delay=10s")
			l := openAt(t, s.URL("postgres"), ledger.Options{Sender: true})
			r := ledgertest.Load(t, l, 4)
			lease := ledgertest.ClaimAll(t, l, r.No)[0]
			if err := s.Exec("CHECKPOINT"); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 2}}); err != nil {
				t.Fatal(err)
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			states, err := l.SegmentStates(t.Context(), r.No)
			if err != nil {
				t.Fatal(err)
			}
			return states[0].Mark < 2
		},
		"rank_overwritten": func(t *testing.T, l *Ledger) bool {
			r := ledgertest.Load(t, l, 1)
			if err := l.Record(t.Context(), ledgertest.Acceptances(ledgertest.ClaimAll(t, l, r.No)[0], 0, 1)); err != nil {
				t.Fatal(err)
			}
			apply(t, l, ledgertest.MessageID(r.No, 0), campaign.Read)
			apply(t, l, ledgertest.MessageID(r.No, 0), campaign.Sent)
			return statusOf(t, l, r.No, 0) != campaign.Read
		},
		"failed_resends": func(t *testing.T, l *Ledger) bool {
			r := ledgertest.Load(t, l, 1)
			if err := l.Record(t.Context(), ledgertest.Acceptances(ledgertest.ClaimAll(t, l, r.No)[0], 0, 1)); err != nil {
				t.Fatal(err)
			}
			apply(t, l, ledgertest.MessageID(r.No, 0), campaign.Failed)
			return statusOf(t, l, r.No, 0) == campaign.Queued
		},
		"sweeper_off": func(t *testing.T, l *Ledger) bool {
			_, _, fresh := takeOver(t, l)
			if _, err := l.Recover(t.Context(), fresh, time.Now()); err != nil {
				t.Fatal(err)
			}
			apply(t, l, "wamid.lost", campaign.Sent)
			s, err := l.Sweep(t.Context(), time.Now())
			return err == nil && s.Adopted == 0
		},
		"budget_not_refunded": func(t *testing.T, l *Ledger) bool { return ledgertest.BudgetKept(t, l) },
		"budget_wrong_scope":  func(t *testing.T, l *Ledger) bool { return ledgertest.BudgetOfASegment(t, l) },
		"tier_not_refunded": func(t *testing.T, l *Ledger) bool {
			place, _ := ledgertest.KeptOfARefusal(t, l)
			return place
		},
		"tier_freed_early": func(t *testing.T, l *Ledger) bool { return ledgertest.FreedEarly(t, l) },
		"contact_not_refunded": func(t *testing.T, l *Ledger) bool {
			_, contact := ledgertest.KeptOfARefusal(t, l)
			return contact
		},
		"move_without_epoch": func(t *testing.T, l *Ledger) bool { return ledgertest.MovedByAFormerOwner(t, l) },
		"move_takes_all":     func(t *testing.T, l *Ledger) bool { return ledgertest.MovedWhatWasSent(t, l) },
		"move_takes_bound":   func(t *testing.T, l *Ledger) bool { return ledgertest.MovedWhatIsBound(t, l) },
		"no_intent": func(t *testing.T, l *Ledger) bool {
			r := ledgertest.Load(t, l, 1)
			g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: ledgertest.ClaimAll(t, l, r.No)[0], Connection: "conn_1", To: 1}})
			if err != nil || g[0].To != 1 {
				t.Fatalf("got %+v, %v; want no error, To 1", g, err)
			}
			states, err := l.SegmentStates(t.Context(), r.No)
			return err == nil && states[0].Mark == 0
		},
		"holds_unread": func(t *testing.T, l *Ledger) bool { return ledgertest.GrantedDespiteAHold(t, l, l) },
		"holds_unshared": func(t *testing.T, _ *Ledger) bool {
			dsn := migrated(t)
			a, b := openAt(t, dsn, ledger.Options{Sender: true}), openAt(t, dsn, ledger.Options{Sender: true})
			return ledgertest.GrantedDespiteAHold(t, a, b)
		},
		"follow_up_key_missing": func(t *testing.T, l *Ledger) bool { return ledgertest.FollowedTwice(t, l) },
		"doubts_not_claimable": func(t *testing.T, l *Ledger) bool {
			_, _, fresh := takeOver(t, l)
			if _, err := l.Recover(t.Context(), fresh, time.Now()); err != nil {
				t.Fatal(err)
			}
			if g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: fresh, Connection: "conn_1", From: 2, To: 4}}); err != nil || g[0].To != 4 {
				t.Fatalf("got %+v, %v; want no error, To 4", g, err)
			}
			if err := l.Record(t.Context(), ledgertest.Acceptances(fresh, 2, 4)); err != nil {
				t.Fatal(err)
			}
			p, err := l.Park(t.Context(), fresh, time.Time{}, ledgertest.After(time.Minute))
			return err == nil && p.Done
		},
	} {
		t.Run(name, func(t *testing.T) {
			if shown := shows(t, openShared(t, ledger.Options{Sender: true})); shown {
				t.Errorf("the mutation shows: %v; want false", shown)
			}
		})
	}
}
