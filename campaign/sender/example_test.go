package sender_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// acceptingService is a service that accepts everything; a daemon uses a *service.Client.
type acceptingService struct{}

func (acceptingService) Send(_ context.Context, m *messaging.Message) (messaging.Receipt, error) {
	return messaging.Receipt{MessageID: "wamid." + m.To}, nil
}

// An engine sends a run of two deliveries, from the ledger that says what to send to the receipts
// in it. launch.Request makes such a run from a campaign file and a list.
func Example() {
	dir, err := os.MkdirTemp("", "sender")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	l, err := ledger.Open(ctx, "sqlite:"+filepath.Join(dir, "campaignd.db"), ledger.Options{Sender: true}, sqlite.Open, postgres.Open)
	if err != nil {
		panic(err)
	}
	defer l.Close()

	run, _ := l.CreateRun(ctx, campaign.Run{
		Campaign: "spring-sale", ListHash: "5f70", Header: []string{"to", "name"}, Wanted: campaign.WantRun, Definition: []byte(`
name: spring-sale
connections: [conn_1]
template: {name: spring_sale, language: en_US, body: ["{{ .name }}"]}
recipients: {file: list.csv}
`),
	})
	_ = l.AppendRows(ctx, run.No, 0, []campaign.Delivery{
		{Run: run.No, Seq: 0, Row: 1, To: "+2348031234567", Key: 2348031234567, Cells: []string{"+2348031234567", "Ada"}},
		{Run: run.No, Seq: 1, Row: 2, To: "+2348031234568", Key: 2348031234568, Cells: []string{"+2348031234568", "Ben"}},
	}, []campaign.Segment{{Run: run.No, Lo: 0, Hi: 2}})
	_ = l.FinishImport(ctx, run.No, 2, campaign.Ready)

	engine, err := sender.New(l, acceptingService{}, throttle.NewLocal(),
		sender.Options{Owner: "me", Pace: func(string) float64 { return 72 }})
	if err != nil {
		panic(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	for run.State != campaign.Finished && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		run, _ = l.Run(ctx, run.No)
	}
	stop() // what is in flight would be awaited and recorded
	fmt.Println(run.ID(), run.State, <-ended)
	for line := range l.Lines(context.Background(), run.No) {
		fmt.Println(line.To, line.Status, line.MessageID)
	}
	// Output:
	// spring-sale-1 finished <nil>
	// +2348031234567 accepted wamid.+2348031234567
	// +2348031234568 accepted wamid.+2348031234568
}
