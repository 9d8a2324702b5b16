//go:build unix

package postgres

import (
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres/connect"
)

func TestReportsMayTakeLongerThanWhatSendingWaitsFor(t *testing.T) {
	l := openShared(t, ledger.Options{})
	if l.sender.Within != callTime || l.hooks.Within != callTime || l.reports.Within != slowTime {
		t.Errorf("sender %s, hooks %s and reports %s; want %s, %s and %s",
			l.sender.Within, l.hooks.Within, l.reports.Within, callTime, callTime, slowTime)
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
