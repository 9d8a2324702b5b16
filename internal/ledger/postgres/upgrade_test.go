//go:build long && unix

package postgres

import (
	"context"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

func TestARollingUpgradeLetsTheOlderProgramGoOn(t *testing.T) {
	t.Parallel()
	dsn := server(t).Database(t)
	old := openAt(t, dsn, ledger.Options{Sender: true})
	r := ledgertest.Load(t, old, 3000)
	s := ledgertest.ClaimAll(t, old, r.No)[0]
	halfway, upgraded := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(upgraded)
		<-halfway
		young, err := openMigrated(context.Background(), dsn, ledger.Options{Sender: true}, next(t, "00999"))
		if err != nil {
			t.Error(err)
			return
		}
		if err := young.Close(); err != nil {
			t.Error(err)
		}
	}()
	send := func(from, to int64) {
		t.Helper()
		g, err := old.Intend(t.Context(), []campaign.Intent{{Lease: s, Connection: "conn_1", From: from, To: to}})
		if err != nil || g[0].To != to {
			t.Fatalf("got %+v, %v; want no error, To %+v", g, err, to)
		}
		if err := old.Record(t.Context(), ledgertest.Acceptances(s, from, to)); err != nil {
			t.Fatal(err)
		}
	}
	for from := int64(0); from < 2900; from += 100 {
		if from == 1000 {
			close(halfway)
		}
		send(from, from+100)
	}
	<-upgraded
	send(2900, 3000)
	if p, err := old.Park(t.Context(), s, time.Time{}, ledgertest.After(time.Minute)); err != nil || !p.Done {
		t.Errorf("got %+v %v; want no error, Done", p, err)
	}
	for _, o := range []ledger.Options{{}, {Sender: true}, {ReadOnly: true}} { // an older program that starts now goes on, too
		l, err := Open(t.Context(), dsn, o)
		if err != nil {
			t.Fatalf("%+v: %v, want no error", o, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	back := openAt(t, dsn, ledger.Options{Sender: true})
	ledgertest.Load(t, back, 3)
}
