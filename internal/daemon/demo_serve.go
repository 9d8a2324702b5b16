package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// Serve keeps a demo running after its campaign, as `campaignd serve` would, with the same ledger,
// sandbox and webhook address. It blocks until ctx ends.
func (w *DemoWorld) Serve(ctx context.Context, o Options, started func(public, admin string)) error {
	public, err := url.Parse(w.Public)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := w.Daemon.Close(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	// The sandbox posts to this address, which the closed daemon no longer uses.
	w.Config.Listen.Public = public.Host
	next, err := New(ctx, w.Config, o)
	if err != nil {
		return err
	}
	w.Daemon = next
	if err := next.Serve(ctx, started); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
