//go:build mutants

package sqlite

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// doubted makes a run of one delivery, which is in doubt, and returns its lease too.
func doubted(t *testing.T, l *Ledger) (campaign.Run, campaign.Lease) {
	r := ledgertest.Load(t, l, 1)
	s := ledgertest.ClaimAll(t, l, r.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", To: 1}}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	doubt := campaign.Result{Run: r.No, Attempt: 1, Kind: campaign.ResultDoubt, Epoch: s.Epoch, At: now, IntentAt: now}
	if err := l.Record(t.Context(), []campaign.Result{doubt}); err != nil {
		t.Fatal(err)
	}
	return r, s
}

// apply applies a status of now.
func apply(t *testing.T, l *Ledger, e campaign.StatusEvent) {
	t.Helper()
	e.At = time.Now()
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{e}}); err != nil {
		t.Fatal(err)
	}
}

// Each scene shows one mutation, and nothing without it. `make mutants` requires both.
func TestNoMutationShows(t *testing.T) {
	for name, shows := range map[string]func(*testing.T, *Ledger) bool{
		"rank_overwritten": func(t *testing.T, l *Ledger) bool {
			r := ledgertest.Load(t, l, 1)
			s := ledgertest.ClaimAll(t, l, r.No)[0]
			if err := l.Record(t.Context(), ledgertest.Acceptances(s, 0, 1)); err != nil {
				t.Fatal(err)
			}
			for _, status := range []campaign.Status{campaign.Read, campaign.Sent} {
				apply(t, l, campaign.StatusEvent{MessageID: ledgertest.MessageID(r.No, 0), Status: status})
			}
			for line := range l.Lines(t.Context(), r.No) {
				return line.Status != campaign.Read
			}
			return false
		},
		"sweeper_off": func(t *testing.T, l *Ledger) bool {
			doubted(t, l)
			apply(t, l, campaign.StatusEvent{MessageID: "wamid.x", Recipient: 2348030000000, Status: campaign.Sent})
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
			s := ledgertest.ClaimAll(t, l, r.No)[0]
			g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", To: 1}})
			if err != nil || g[0].To != 1 {
				t.Fatalf("got %+v, %v; want no error, To 1", g, err)
			}
			states, err := l.SegmentStates(t.Context(), r.No)
			return err == nil && states[0].Mark == 0
		},
		"holds_unread":          func(t *testing.T, l *Ledger) bool { return ledgertest.GrantedDespiteAHold(t, l, l) },
		"follow_up_key_missing": func(t *testing.T, l *Ledger) bool { return ledgertest.FollowedTwice(t, l) },
		"doubts_not_claimable": func(t *testing.T, l *Ledger) bool {
			_, s := doubted(t, l)
			p, err := l.Park(t.Context(), s, time.Time{}, ledgertest.After(time.Minute))
			return err == nil && p.Done
		},
	} {
		t.Run(name, func(t *testing.T) {
			if shown := shows(t, openTest(t, ledger.Options{})); shown {
				t.Errorf("the mutation shows: %v; want false", shown)
			}
		})
	}
}

// A process that dies at a crash point has neither committed nor returned an answer.
func TestADeathBeforeTheCommitLeavesNothing(t *testing.T) {
	for point, want := range map[string]string{"intent_before_commit": "", "outcome_uncommitted": "intended 4\n"} {
		path := filepath.Join(t.TempDir(), "test.db")
		l, err := Open(t.Context(), path, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := ledgertest.Load(t, l, 100)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), "LEDGER_TEST_CHILD="+path, "CAMPAIGND_CRASH="+point+":1")
		out, err := child.Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL || string(out) != want {
			t.Fatalf("%s: the child said %q, %v; want %q and SIGKILL", point, out, err, want)
		}
		if l, err = Open(context.Background(), path, ledger.Options{Sender: true}); err != nil {
			t.Fatal(err)
		}
		states, err := l.SegmentStates(t.Context(), r.No)
		if err != nil {
			t.Fatal(err)
		}
		if mark := states[0].Mark; mark != int64(4*strings.Count(want, "\n")) {
			t.Errorf("%s: mark %d; want %d", point, mark, 4*strings.Count(want, "\n"))
		}
		for line := range l.Lines(t.Context(), r.No) {
			if line.Status == campaign.Accepted {
				t.Errorf("%s: row %d is %s; want another status", point, line.Row, line.Status)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
