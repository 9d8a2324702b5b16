package portable_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

// A backend embeds the portable half: its methods are methods of the backend's Ledger.
func Example() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	l, err := sqlite.Open(ctx, filepath.Join(dir, "campaignd.db"), ledger.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	lease, ok, err := l.AcquireJob(ctx, "schedule", "replica-1", time.Minute)
	fmt.Println(lease.Name, lease.Epoch, ok, err)
	_, err = l.NoteFiring(ctx, campaign.Firing{Campaign: "spring", Key: "2026-09-21T09:00", Outcome: campaign.FiringLaunching})
	fired, _ := l.Firings(ctx, campaign.FiringFilter{Campaign: "spring"})
	fmt.Println(len(fired), fired[0].Outcome, err)
	// Output:
	// schedule 1 true <nil>
	// 1 launching <nil>
}
