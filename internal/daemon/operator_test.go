package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/pgtest"
	"campaignd/internal/ledger/postgres"
)

// A launch into a PostgreSQL ledger leaves a run that a serve can send, and one only.
func TestALaunchIntoPostgresIsMadeOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "STANDARD", 15*time.Second)
	server, err := pgtest.Start()
	pgtest.Require(t, err)
	t.Cleanup(server.Stop)
	cfg := *c.config
	cfg.Ledger, cfg.Replicas = server.URL("postgres"), 2
	list := client.Launch{Campaign: c.campaign(c.dir, "pushed", "", 30), List: filepath.Join(c.dir, "pushed.csv")}
	log := slog.New(slog.DiscardHandler)
	first, err := LaunchInto(t.Context(), &cfg, list, log)
	if err != nil || first.Run.Rows != 30 || first.Run.State != campaign.Ready || first.Resumed || first.Ended {
		t.Fatalf("got %+v, %v, want a new run of 30 rows that is ready", first, err)
	}
	again, err := LaunchInto(t.Context(), &cfg, list, log)
	if err != nil || again.Run.ID != first.Run.ID || !again.Resumed {
		t.Errorf("the same list again: got %+v, %v, want that %s goes on", again, err, first.Run.ID)
	}
	if err := os.WriteFile(list.List, []byte("phone,first_name,order\n+2348030000000,Ada,A-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var other *launch.UnfinishedError
	if _, err := LaunchInto(t.Context(), &cfg, list, log); !errors.As(err, &other) {
		t.Errorf("an edited list: got %v, want that it is refused beside %s", err, first.Run.ID)
	}
	l, err := postgres.Open(t.Context(), cfg.Ledger, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	if runs, err := l.Runs(t.Context(), campaign.RunFilter{}); err != nil || len(runs) != 1 {
		t.Errorf("got %d runs, %v, want one", len(runs), err)
	}
}
