package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/messaging"
)

// A new daemon has its ledger, its limiter and its clients. Serve or RunCampaign works until its
// context ends; Close ends what New has opened.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "campaignd")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, cfg := context.Background(), config.Default()
	cfg.Ledger = "sqlite:" + filepath.Join(dir, "campaignd.db")
	cfg.Service.APIKey = messaging.NewSecret("key_example")
	d, err := daemon.New(ctx, cfg, daemon.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.NoLedger(), d.Close())
	// Output: false <nil>
}
