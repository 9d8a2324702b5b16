//go:build long && unix

package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// A synchronous standby is promoted while a process sends. It lost nothing, so the quarantine with
// --lost 0s makes no doubt and pauses no run, and the process goes on at its mark. The diagnosis
// has named this command before.
func TestAFailoverThatLostNothingNeedsOneCommand(t *testing.T) {
	t.Parallel()
	primary := own(t)
	standby, err := primary.Standby("second")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standby.Stop)
	address := strings.Replace(primary.URL("postgres"), primary.Addr, primary.Addr+","+standby.Addr, 1) + "&target_session_attrs=read-write"
	l := openAt(t, address, ledger.Options{Sender: true})
	told := func(want string) {
		t.Helper()
		if d, err := l.Diagnose(t.Context()); err != nil || !strings.Contains(d.Failover, want) {
			t.Errorf("the diagnosis: got %q and %v, want %q", d.Failover, err, want)
		}
	}
	told("has run, with the time that was lost")
	for _, change := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'second'", "SELECT pg_reload_conf()"} {
		if err := primary.Exec(change); err != nil {
			t.Fatal(err)
		}
	}
	var synchronous int64
	for end := time.Now().Add(time.Minute); synchronous == 0; time.Sleep(20 * time.Millisecond) {
		if err := l.read(t.Context(), l.reports,
			row(&synchronous, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`)); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatal("the standby is not synchronous within a minute, want that it is")
		}
	}
	told("quarantine` --lost 0s has run if the new primary was synchronous to the end")

	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	intent := func(from, to int64) (campaign.Granted, error) {
		g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", From: from, To: to}})
		if len(g) == 0 {
			return campaign.Granted{}, err
		}
		return g[0], err
	}
	if g, err := intent(0, 10); err != nil || g.To != 10 {
		t.Fatalf("an intent before: got %+v and %v, want up to 10", g, err)
	}
	if err := l.Record(t.Context(), ledgertest.Acceptances(lease, 0, 8)); err != nil {
		t.Fatal(err)
	}
	primary.Crash()
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	const command = "quarantine`, with --lost 0s only if the standby was synchronous"
	if _, err := intent(10, 20); !errors.Is(err, ledger.ErrRestored) || !strings.Contains(err.Error(), command) {
		t.Errorf("an intent after the failover: got %v, want ErrRestored with the command", err)
	}
	operator := openAt(t, address, ledger.Options{Sender: true, AcceptRestored: true})
	if n, err := operator.Quarantine(t.Context(), 0, nil, time.Time{}); err != nil || n != 0 {
		t.Errorf("the quarantine: got %d doubts and %v, want none", n, err)
	}
	if g, err := intent(10, 20); err != nil || g.Fenced || g.To != 20 {
		t.Errorf("an intent after the quarantine: got %+v and %v, want up to 20 by the same lease", g, err)
	}
	if got := ledgertest.Totals(t, l, r.No); got[campaign.Accepted] != 8 || got[campaign.InDoubt] != 0 {
		t.Errorf("got %v, want 8 accepted and none in doubt", got)
	}
}
