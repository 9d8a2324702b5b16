package main

import (
	"context"

	"campaignd/internal/api"
	"campaignd/internal/daemon"
	"campaignd/internal/operator"
)

// operatorsAPI makes the API of a process that serves (daemon.Options.API).
func operatorsAPI(ctx context.Context, p operator.Process) (daemon.API, error) {
	return api.New(ctx, p)
}
