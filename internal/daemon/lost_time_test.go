//go:build long

package daemon

import (
	"errors"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/pgtest"
	"campaignd/internal/ledger/postgres"
)

// A standby is promoted beside a sender that stays. It goes on reporting its lanes, and events and
// late results come in. The operator comes later than --lost after that.
func TestTheLostTimeBeginsBeforeTheFailover(t *testing.T) {
	t.Parallel()
	server, err := pgtest.Start()
	pgtest.Require(t, err)
	t.Cleanup(server.Stop)
	l, err := postgres.Open(t.Context(), server.URL("postgres"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	run := ledgertest.Load(t, l, 20)
	lease := ledgertest.ClaimAll(t, l, run.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 10}}); err != nil {
		t.Fatal(err)
	}
	report := func() error {
		return l.ReportLanes(t.Context(), "held up", []campaign.LaneReport{{Run: run.No, Connection: "conn_1", At: time.Now()}})
	}
	if err := report(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restore(); err != nil {
		t.Fatal(err)
	}
	promoted := time.Now()
	for end := promoted.Add(longWait); report() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got no report within %v, want one to the promoted standby", longWait)
		}
	}
	if err := l.Record(t.Context(), ledgertest.Acceptances(lease, 0, 5)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: []campaign.StatusEvent{{MessageID: ledgertest.MessageID(run.No, 1),
		Connection: "conn_1", Status: campaign.Delivered, At: time.Now(), ReceivedAt: time.Now()}}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Restored(t.Context()); !errors.Is(err, ledger.ErrRestored) {
		t.Fatalf("got %v, want a ledger that went back in time", err)
	}
	cfg := config.Default()
	cfg.Ledger, cfg.Campaigns = server.URL("postgres"), t.TempDir()
	q, err := Quarantine(t.Context(), cfg, QuarantineOptions{Lost: time.Millisecond, Ahead: 5})
	if err != nil || !q.Done || !q.Since.Before(promoted) || !q.Newest.Before(promoted) {
		t.Errorf("the lost time begins at %v, the newest record is of %v, done %v, %v; want both before the promotion at %v",
			q.Since, q.Newest, q.Done, err, promoted)
	}
}
