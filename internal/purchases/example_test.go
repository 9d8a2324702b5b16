package purchases_test

import (
	"context"
	"time"

	"campaignd/internal/commerce"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/purchases"
)

// A process that sends has one Keeper, which runs as long as it.
func Example() {
	var ledger *sqlite.Ledger // with the runs
	k := purchases.New(purchases.Options{
		Ledger: ledger,
		Client: func() (*commerce.Client, error) {
			return commerce.New(commerce.Options{BaseURL: "https://api.example.com"})
		},
		Poll: time.Minute,
	})
	ctx, stop := context.WithCancel(context.Background())
	stop() // when the process ends
	k.Run(ctx)
	// Output:
}
