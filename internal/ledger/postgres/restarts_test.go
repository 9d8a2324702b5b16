//go:build long && unix

package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/throttle/throttletest"
)

func TestARestartedServerIsSentFromWithoutACallFailing(t *testing.T) {
	t.Parallel()
	s := own(t)
	l := openAt(t, s.URL("postgres"), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 400)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	for from := int64(0); from < 400; from += 40 {
		g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: from + 40}})
		if err != nil || g[0].To != from+40 {
			t.Fatalf("got %+v, %v; want no error, To %+v", g, err, from+40)
		}
		if err := s.Restart(); err != nil { // this breaks all connections
			t.Fatal(err)
		}
		if err := l.Record(t.Context(), ledgertest.Acceptances(lease, from, from+40)); err != nil {
			t.Fatal(err)
		}
		a, err := l.Apply(t.Context(), statusOfMessage(ledgertest.MessageID(r.No, from), campaign.Sent))
		if err != nil || a.Matched != 1 {
			t.Fatalf("got %+v, %v; want no error, Matched 1", a, err)
		}
	}
	if p, err := l.Park(t.Context(), lease, time.Time{}, ledgertest.After(time.Minute)); err != nil || !p.Done {
		t.Errorf("got %+v %v; want no error, Done", p, err)
	}
	if ps, _, err := l.Audit(t.Context(), r.No, 5); err != nil || len(ps) > 0 {
		t.Errorf("got %+v %v; want no error, none", ps, err)
	}
}

func TestAServerThatIsAwayFailsCallsSoon(t *testing.T) {
	t.Parallel()
	s := own(t)
	l := openAt(t, s.URL("postgres"), ledger.Options{Sender: true})
	ledgertest.Load(t, l, 1)
	s.Crash()
	began, watched := time.Now(), throttletest.Watch()
	for range 20 { // a webhook must be answered 503 at once
		if _, err := l.Apply(t.Context(), statusOfMessage("x", campaign.Sent)); err == nil {
			t.Fatal("the call succeeded without a server, want an error")
		}
	}
	throttletest.Soon(t, "20 calls", time.Since(began), 10*time.Second, watched())
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if _, err := l.Apply(t.Context(), statusOfMessage("x", campaign.Sent)); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// The connection that an intent opens may be the first one to a promoted standby.
func TestAPromotedStandbyIsNoticedBeforeItsFirstIntent(t *testing.T) {
	t.Parallel()
	s := own(t)
	l := openAt(t, s.URL("postgres"), ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(); err != nil {
		t.Fatal(err)
	}
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: 10, To: 20}})
	if !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("%+v %v, want ErrRestored", g, err)
	}
	var mark int64
	err = l.read(context.Background(), l.sender, row(&mark, `SELECT mark FROM segment WHERE run = $1`, int64(r.No)))
	if err != nil || mark != 10 {
		t.Errorf("the mark is at %d, %v; want no error, 10", mark, err)
	}
}

func TestUnsafeDurabilityIsRefused(t *testing.T) {
	t.Parallel()
	s := own(t)
	l, err := Open(t.Context(), s.URL("postgres"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := l.Diagnose(t.Context())
	if err != nil || f.Unsafe != nil || !strings.Contains(f.Durable, "synchronous_commit=on, fsync=on") || f.Clock.IsZero() {
		t.Errorf("diagnosis of a safe server: %+v (%v), want its settings and its clock", f, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ set, reset, want string }{
		{"ALTER ROLE postgres SET synchronous_commit = off", "ALTER ROLE postgres RESET synchronous_commit",
			"ALTER ROLE CURRENT_USER SET synchronous_commit = on"},
		{"ALTER ROLE postgres SET synchronous_commit = local", "ALTER ROLE postgres RESET synchronous_commit", "synchronous_commit is local"},
		{"ALTER SYSTEM SET fsync = off", "ALTER SYSTEM RESET fsync", "set fsync = on"},
		{"ALTER SYSTEM SET full_page_writes = off", "ALTER SYSTEM RESET full_page_writes", "set full_page_writes = on"},
		{"ALTER ROLE postgres SET synchronous_commit = remote_apply", "ALTER ROLE postgres RESET synchronous_commit", ""},
	} {
		if err := s.Exec(c.set); err != nil {
			t.Fatal(err)
		}
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		l, err := Open(t.Context(), s.URL("postgres"), ledger.Options{})
		if err == nil {
			err = l.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v, want a line with %q", c.set, err, c.want)
		}
		if err := s.Exec(c.reset); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARestoredServerIsNoticed(t *testing.T) {
	t.Parallel()
	s := own(t)
	open := func(o ledger.Options) (*Ledger, error) {
		o.Sender = true
		return Open(t.Context(), s.URL("postgres"), o)
	}
	l, err := open(ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	intent := func(from, to int64) error {
		_, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: to}})
		return err
	}
	if err := intent(0, 10); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(); err != nil {
		t.Fatal(err)
	}
	if err := l.Record(t.Context(), ledgertest.Acceptances(lease, 0, 10)); err != nil { // results are recorded all the same
		t.Fatal(err)
	}
	if err := intent(10, 20); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("an intent on another timeline: %v; want ErrRestored", err)
	}
	claim := campaign.Claim{Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: time.Minute}
	if _, err := l.Claim(t.Context(), claim); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("a claim on another timeline: %v; want ErrRestored", err)
	}
	if _, err := open(ledger.Options{}); !errors.Is(err, ledger.ErrRestored) || strings.Contains(err.Error(), "\n") {
		t.Errorf("opened on another timeline: %v; want ErrRestored, a text without \"\\n\"", err)
	}
	operator, err := open(ledger.Options{AcceptRestored: true})
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	if err := operator.Restored(t.Context()); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("before the quarantine: %v; want ErrRestored", err)
	}
	if _, err := open(ledger.Options{}); !errors.Is(err, ledger.ErrRestored) {
		t.Errorf("opened before the quarantine: %v; want ErrRestored", err)
	}
	n, err := operator.Quarantine(t.Context(), 15, nil, time.Now().Add(-time.Minute))
	if err != nil || n != 15 {
		t.Errorf("put %d in doubt, %v; want no error, 15", n, err)
	}
	if got, err := operator.Run(t.Context(), r.No); err != nil || got.State != campaign.Paused || got.Reason != campaign.PausedByLedger {
		t.Errorf("got %+v %v; want no error, State Paused, Reason PausedByLedger", got, err)
	}
	if _, err := operator.SetWanted(t.Context(), r.No, campaign.WantRun, ""); err != nil {
		t.Fatal(err)
	}
	ls := ledgertest.ClaimAll(t, l, r.No) // the process that was not restarted goes on
	if len(ls) != 1 || ls[0].Mark != 25 {
		t.Fatalf("got %+v; want length 1, Mark 25", ls)
	}
	if got := ledgertest.Totals(t, l, r.No); got[campaign.Accepted] != 10 || got[campaign.InDoubt] != 15 || got[campaign.Queued] != 75 {
		t.Errorf("got %v; want Accepted: 10, InDoubt: 15, Queued: 75", got)
	}
}
