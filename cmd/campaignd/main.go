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
	os.Exit(run(untilSignal(context.Background()), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, variables(os.Environ())))
}

// untilSignal returns a context that ends with the first signal that asks for an end. A second one
// ends the process at once. A closed terminal asks too, so that what is in flight is recorded: the
// kernel and the shell both say so, and the second SIGHUP ends nothing. Under nohup none does.
func untilSignal(ctx context.Context) context.Context {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, ends...)
	context.AfterFunc(ctx, func() {
		signal.Ignore(syscall.SIGHUP)
		stop()
	})
	return ctx
}

// outliveReader lets a command that sends go on when the reader of its output has ended, such as
// the tee of a pipeline, which the same Ctrl-C ends: what is in flight is recorded. A write then
// fails with an error, where by default it would end the process at once.
func outliveReader() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

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
