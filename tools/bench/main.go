//go:build unix

// Command bench measures campaignd against the smallest programs that could do its work, in one run
// on one machine:
//
//   - sends per second and CPU time per message of campaignd (import, ledger on disk, intents,
//     results, webhooks) and of a bare net/http loop that sends the same request
//     bytes and answers the same webhooks without decoding them;
//   - rows per second of an import and of encoding/csv alone on the same file;
//   - peak memory of importing and sending 100,000 and 1,000,000 rows.
//
// With -silent the service posts no webhooks, so only sends are measured.
//
// With -large N it measures a list of N rows (large.go), with -generated N questions about N rows
// that were never sent (generated.go), and with -lag beside it how old summaries get (lag.go).
//
// With -cluster it measures several replicas on PostgreSQL and Redis instead (see cluster.go).
//
// `make bench` and `make bench-cluster` run it. The measured program runs in a child process of its
// own, and so does the service that both send to, which gives constant answers (see sink.go). CPU
// time is the time of the measured process only. Repetitions of both sides alternate, because other
// load on the machine then affects both sides equally. Each child has a deadline and ends with its
// parent. It needs Unix.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"
)

// options are the flags.
type options struct {
	repetitions int
	messages    int
	rows        int
	rowsLarge   int
	generated   int64
	runs        int64
	lag         time.Duration
	workers     int
	delay       time.Duration
	cluster     bool
	period      time.Duration
	quick       bool
	profile     bool
	silent      bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		err = runRole(ctx, roles[os.Args[1]], os.Stdin, os.Stdout)
	} else {
		err = measure(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.repetitions, "n", 3, "repetitions; medians, least and most are shown")
	f.IntVar(&o.messages, "messages", 40_000, "messages of one measurement of sending")
	f.IntVar(&o.rows, "rows", 200_000, "rows of one measurement of importing")
	f.IntVar(&o.workers, "workers", 64, "requests in flight, of the bare loop and of campaignd; a multiple of 4")
	f.BoolVar(&o.cluster, "cluster", false, "measure replicas on private PostgreSQL and redis-server, with fewer messages")
	f.DurationVar(&o.period, "period", 10*time.Second, "with -cluster: how long replicas are measured")
	f.BoolVar(&o.quick, "quick", false, "leave out the million rows; with -cluster: also one repetition with short periods only")
	f.BoolVar(&o.profile, "profile", false,
		"print a CPU profile of campaignd instead (needs the go tool); with -cluster: of one replica on PostgreSQL")
	f.BoolVar(&o.silent, "silent", false, "the service posts no webhooks; with -cluster: measure only one replica against the bare loop")
	f.DurationVar(&o.delay, "delay", 0, "the time before the service answers a message; with -cluster only with -profile or -silent")
	f.IntVar(&o.rowsLarge, "large", 0, "measure only a list of so many rows on four replicas over PostgreSQL and Redis")
	f.Int64Var(&o.generated, "generated", 0, "measure only reports and audits of a run of so many rows that was never sent, on PostgreSQL")
	f.Int64Var(&o.runs, "runs", 1, "with -generated: with more than 1 run, measure only what one person got in them")
	f.DurationVar(&o.lag, "lag", 0, "with -generated: measure only how old summaries get while 1,000/s are sent for so long")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.cluster {
		o.lessen(f)
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	case o.repetitions < 1 || o.messages < 1000 || o.rows < 1000:
		return o, errors.New("-n needs at least 1, -messages and -rows at least 1000")
	case o.cluster && o.period < time.Second:
		return o, errors.New("-cluster needs a -period of at least 1s")
	case o.delay < 0:
		return o, errors.New("-delay is below 0")
	case o.cluster && o.delay > 0 && !o.profile && !o.silent:
		return o, errors.New("-cluster has its own -delay, except with -profile or -silent")
	case o.generated < 0 || o.runs < 1 || o.lag < 0 || o.generated > 0 && o.generated < 1000:
		return o, errors.New("-generated needs at least 1000 rows, -runs at least 1, -lag no less than 0")
	case o.workers < connections || o.workers%connections != 0:
		return o, fmt.Errorf("-workers %d is no multiple of the %d connections", o.workers, connections)
	}
	return o, nil
}

// lessen lowers the defaults of the flags that are not given, so that the many measurements of a
// cluster take six minutes at most, without the million rows.
func (o *options) lessen(f *flag.FlagSet) {
	given := map[string]bool{}
	f.Visit(func(x *flag.Flag) { given[x.Name] = true })
	if !given["messages"] {
		o.messages = 15_000
	}
	if !o.quick {
		return
	}
	if !given["n"] {
		o.repetitions = 1
	}
	if !given["messages"] {
		o.messages = 8_000
	}
	if !given["rows"] {
		o.rows = 50_000
	}
	if !given["period"] {
		o.period = 5 * time.Second
	}
}

// measure is the parent process: it runs every measurement and prints the results.
func measure(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "campaignd-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{options: o, ctx: ctx, dir: dir, deadline: 10 * time.Minute, out: stdout, log: stderr}
	switch {
	case o.profile && o.cluster:
		return b.clusterProfiles()
	case o.profile:
		return b.profiles(b.onSQLite)
	case o.rowsLarge > 0:
		return b.large()
	case o.generated > 0 && o.lag > 0:
		return b.ages()
	case o.generated > 0:
		return b.generate()
	case o.cluster:
		return b.cluster()
	}
	fmt.Fprintf(stdout, "%s; median (least..most) of %d\n", machine(), o.repetitions)
	for _, measured := range []func() error{b.sending, b.importing, b.memory} {
		if err := measured(); err != nil {
			return err
		}
	}
	return nil
}

// machine describes what the program runs on.
func machine() string {
	return fmt.Sprintf("%s %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// bench is one run of this program.
type bench struct {
	options
	ctx      context.Context //nolint:containedctx // the context of the whole program
	dir      string
	deadline time.Duration // the longest time of one child
	out, log io.Writer
	count    int // ledgers made so far
}

// note writes a line about the progress.
func (b *bench) note(format string, a ...any) { fmt.Fprintf(b.log, format+"\n", a...) }

// ledger returns the path of a new ledger.
func (b *bench) ledger() string {
	b.count++
	return filepath.Join(b.dir, fmt.Sprintf("ledger-%d.db", b.count))
}

// drop removes the files of a ledger. A million rows take half a gigabyte.
func drop(ledger string) error {
	files, err := filepath.Glob(ledger + "*")
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}
