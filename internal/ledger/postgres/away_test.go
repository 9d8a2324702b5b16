//go:build unix

package postgres

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/postgres/connect"
	"campaignd/throttle/throttletest"
)

func TestReportsMayTakeLongerThanWhatSendingWaitsFor(t *testing.T) {
	l := openShared(t, ledger.Options{})
	if l.sender.Within != callTime || l.hooks.Within != callTime || l.reports.Within != slowTime {
		t.Errorf("sender %s, hooks %s and reports %s; want %s, %s and %s",
			l.sender.Within, l.hooks.Within, l.reports.Within, callTime, callTime, slowTime)
	}
}

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

func TestReportsDoNotKeepWebhooksWaiting(t *testing.T) {
	l := openShared(t, ledger.Options{})
	var taken []*connect.Conn
	for range connect.PoolSize {
		c, err := l.reports.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, c)
	}
	if _, err := l.Apply(t.Context(), statusOfMessage("x", campaign.Sent)); err != nil {
		t.Error(err)
	}
	if _, err := l.Runs(t.Context(), campaign.RunFilter{}); err != nil {
		t.Error(err)
	}
	for _, c := range taken {
		l.reports.Release(c)
	}
}
