// Command campaignd runs bulk campaigns of approved template messages over a business messaging
// service. It takes a list as CSV, and each row gets an outcome.
//
// This package has flags, signals and exit codes only: one file per subcommand, and no logic.
// `campaignd help` lists the commands. Scripts may rely on the exit codes
// (docs/operations.md#commands-and-exit-codes).
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // a container may have no zone database, and windows are in local time
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an ordered end; a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, variables(os.Environ())))
}

// variables returns the values of an environment by name; an element of environ is NAME=value.
func variables(environ []string) map[string]string {
	m := make(map[string]string, len(environ))
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok {
			m[name] = value
		}
	}
	return m
}
