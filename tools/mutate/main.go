package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"time"
)

// mutated lists the packages that are mutated by default.
const mutated = "./campaign/... ./internal/ledger ./internal/ledger/sqlite ./internal/ledger/postgres ./internal/messaging/... " +
	"./internal/webhooks ./internal/config ./internal/schedule ./internal/daemon ./throttle ./recipients ./reporting ./cmd/... " +
	"./internal/audience ./internal/purchases ./internal/commerce ./internal/drops ./internal/console"

// options are the flags and the state of one run.
type options struct {
	n         int
	seed      uint64
	packages  string
	at        string
	written   bool
	overlayTo string
	workers   int
	args      []string // names and files of mutations; none: all

	root, work string
	module     string
	began      time.Time
	mu         sync.Mutex
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 40, "how many random mutations")
	flag.Uint64Var(&o.seed, "seed", 1, "the same seed draws the same mutations of the same code")
	flag.StringVar(&o.packages, "packages", mutated, "packages to mutate, separated by spaces")
	flag.StringVar(&o.at, "at", "", "FILE:LINE: every mutation of this line")
	flag.BoolVar(&o.written, "written", false,
		"the mutations of mutations.txt and mistakes.txt, or the ones of the NAMES and FILES, instead of random ones")
	flag.StringVar(&o.overlayTo, "overlay", "", "only write the program with these mutations, as a build overlay, to this folder")
	flag.IntVar(&o.workers, "workers", 2, "mutations that are tried at the same time")
	flag.Parse()
	o.args = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, &o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, o *options) (code int, err error) {
	o.began = time.Now()
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	if err != nil {
		return 1, fmt.Errorf("the folder is not of a Go module: %w", err)
	}
	o.module, o.root, _ = strings.Cut(strings.TrimSpace(string(module)), " ")
	if o.overlayTo != "" {
		return o.printOverlay()
	}
	if o.work, err = os.MkdirTemp("", "mutate-"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(o.work) }()
	if o.written {
		return o.tryWritten(ctx)
	}
	return o.tryRandom(ctx)
}

// parallel calls f for 0 to n-1, with o.workers calls at the same time.
func (o *options) parallel(n int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range o.workers {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// command returns a process that ends with ctx. Its address space is limited, because a mutation
// may allocate memory without end.
func (o *options) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `ulimit -v 16000000; exec "$@"`, "sh", name}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	c.WaitDelay = 5 * time.Second
	return c
}
