package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

func TestAHoldSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	open := func() *Ledger {
		t.Helper()
		l, err := Open(t.Context(), path, ledger.Options{Sender: true})
		if err != nil {
			t.Fatalf("opening: %v; want no error", err)
		}
		return l
	}
	shut := func(l *Ledger) {
		t.Helper()
		if err := l.Close(); err != nil {
			t.Fatalf("closing: %v; want no error", err)
		}
	}
	l := open()
	r := ledgertest.Load(t, l, 1)
	h := campaign.Hold{Scope: campaign.HoldAccount, ID: "acc", Reason: "131042", Source: campaign.HoldByStatus, Since: time.Now()}
	if began, err := l.AddHolds(t.Context(), []campaign.Hold{h}); err != nil || len(began) != 1 {
		t.Fatalf("began %+v, %v; want one", began, err)
	}
	shut(l)
	l = open()
	defer shut(l)
	in := campaign.Intent{Lease: ledgertest.ClaimAll(t, l, r.No)[0], Connection: "conn_1", To: 1, Origin: campaign.Origin{Account: "acc"}}
	g, err := l.Intend(t.Context(), []campaign.Intent{in})
	if err != nil || !g[0].Denied || g[0].HeldBy.Reason != h.Reason {
		t.Errorf("after a restart: %+v, %v; want it held by %s", g, err, h.Reason)
	}
	lift := campaign.Lift{Scope: h.Scope, ID: h.ID, By: campaign.HoldByOperator, At: time.Now()}
	if ended, err := l.LiftHolds(t.Context(), []campaign.Lift{lift}); err != nil || len(ended) != 1 {
		t.Errorf("lifted %+v, %v; want one", ended, err)
	}
}
