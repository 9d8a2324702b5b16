package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
)

// One delivery from the list to its receipt.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	l, err := ledger.Open(ctx, "sqlite:"+filepath.Join(dir, "campaignd.db"), ledger.Options{Sender: true}, sqlite.Open, postgres.Open)
	if err != nil {
		panic(err)
	}
	defer l.Close()

	run, _ := l.CreateRun(ctx, campaign.Run{Campaign: "spring-sale", ListHash: "5f70"})
	_ = l.AppendRows(ctx, run.No, 0,
		[]campaign.Delivery{{Seq: 0, Row: 1, To: "+2348031234567", Key: 2348031234567, Cells: []string{"Ada"}}},
		[]campaign.Segment{{Run: run.No, Lo: 0, Hi: 1}})
	_ = l.FinishImport(ctx, run.No, 1, campaign.Ready)

	leases, _ := l.Claim(ctx, campaign.Claim{Owner: "me", Connection: "conn_1", Runs: []campaign.RunNo{run.No}, Max: 1,
		Lease: 15 * time.Second})
	granted, _ := l.Intend(ctx, []campaign.Intent{{Lease: leases[0], Connection: "conn_1", From: 0, To: 1}})
	fmt.Println("may be posted below", granted[0].To)
	_ = l.Record(ctx, []campaign.Result{{Run: run.No, Seq: 0, Attempt: 1, Kind: campaign.ResultAccepted, MessageID: "wamid.1",
		At: time.Now()}})

	for line := range l.Lines(ctx, run.No) {
		fmt.Println(line.To, line.Status, line.MessageID)
	}
	// Output:
	// may be posted below 1
	// +2348031234567 accepted wamid.1
}
