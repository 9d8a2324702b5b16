// Command dashboard draws the Grafana dashboard of the chart from a recorded run, without Grafana.
// It runs a scene with the sandbox, scrapes /metrics of `campaignd serve`, evaluates each panel's
// expressions with Prometheus' own engine, and draws all panels into one SVG at their positions. It
// fails when an expression has no series, for example after a metric was renamed. `make dashboard`
// runs it. It is a module of its own, so that Prometheus is in no build of campaignd.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	program := flag.String("campaignd", "./campaignd", "`FILE` of the program that is recorded")
	board := flag.String("dashboard", "deploy/helm/campaignd/files/dashboard.json", "`FILE` of the dashboard")
	recording := flag.String("recording", "", "`FILE` with a recording; it is made when it is missing")
	out := flag.String("out", "dashboard.svg", "`FILE` to write")
	length := flag.Duration("for", 4*time.Minute, "length of the recording")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *program, *board, *recording, *out, *length); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program, board, recording, out string, length time.Duration) error {
	d, err := readDashboard(board)
	if err != nil {
		return err
	}
	scrapes, err := readRecording(recording)
	if errors.Is(err, os.ErrNotExist) {
		if scrapes, err = record(ctx, program, length); err == nil {
			err = writeRecording(recording, scrapes)
		}
	}
	if err != nil {
		return err
	}
	drawn, empty, err := evaluate(ctx, d, scrapes)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, draw(d.Title, drawn, scrapes), 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d panels from %d scrapes\n", out, len(drawn), len(scrapes))
	return empty
}
