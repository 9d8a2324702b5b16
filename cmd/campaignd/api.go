package main

import (
	"context"
	"net/http"

	"campaignd/internal/api"
	"campaignd/internal/config"
	"campaignd/internal/console"
	"campaignd/internal/daemon"
	"campaignd/internal/operator"
)

// operatorsAPI makes the API of a process that serves (daemon.Options.API).
func operatorsAPI(ctx context.Context, p operator.Process) (daemon.API, error) {
	return api.New(ctx, p)
}

// pages makes the console of a process that serves (daemon.Options.Console).
func pages(c *config.Config) func(context.Context, operator.Process) (http.Handler, error) {
	return func(ctx context.Context, p operator.Process) (http.Handler, error) {
		return console.New(ctx, p, console.Options{BehindTLS: c.Console.BehindTLS})
	}
}
