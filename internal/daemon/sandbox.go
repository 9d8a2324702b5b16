package daemon

import (
	"context"
	"errors"
	"time"

	"campaignd/internal/sandbox"
)

// ServeSandbox serves the sandbox of the messaging service on addr until ctx ends. started, if not
// nil, gets the URL once requests are answered.
func ServeSandbox(ctx context.Context, addr string, o sandbox.Options, started func(url string)) error {
	service, err := sandbox.New(o)
	if err != nil {
		return err
	}
	l, err := bind(ctx, "--addr", addr, service)
	if err != nil {
		return err
	}
	// The faults hang_before and hang_after delay an answer for longer than any client waits.
	l.srv.WriteTimeout = 0
	l.srv.ConnContext = sandbox.ConnContext
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- l.serve(ctx, time.Second)
	}()
	if started != nil {
		started(l.url())
	}
	return errors.Join(service.Run(ctx), <-served)
}
