//go:build unix

package postgres

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// The last report of a sender about its lanes is kept for ten minutes.
func TestASilentSendersLanesAreKeptTenMinutes(t *testing.T) {
	t.Parallel()
	l := openShared(t, ledger.Options{Sender: true})
	r := ledgertest.Load(t, l, 1)
	owners := []string{"gone", "silent"}
	for _, owner := range owners {
		lane := campaign.LaneReport{Run: r.No, Connection: owner, LimitedBy: campaign.ByTier, At: time.Now()}
		if err := l.ReportLanes(t.Context(), owner, []campaign.LaneReport{lane}); err != nil {
			t.Fatalf("reporting: %v; want no error", err)
		}
	}
	for i, age := range []int64{601_000, 595_000} { // ms
		later := stmt(nil, `UPDATE lane SET told_at = ledger_now() - $2::bigint WHERE owner = $1`, owners[i], age)
		if err := l.read(t.Context(), l.sender, later); err != nil {
			t.Fatalf("ageing: %v; want no error", err)
		}
	}
	if err := l.ReportLanes(t.Context(), "speaks", nil); err != nil {
		t.Fatalf("reporting: %v; want no error", err)
	}
	var got string
	if asked(t, l, row(&got, `SELECT coalesce(string_agg(owner, ' '), '') FROM lane`)); got != "silent" {
		t.Errorf("lanes of %q are kept; want of \"silent\" alone", got)
	}
}
