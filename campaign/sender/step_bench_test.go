package sender

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

var (
	stepRows    = flag.Int64("step-rows", 20_000, "rows of all runs of BenchmarkPlanningStep; make bench-step takes 1,000,000")
	stepRuns    = flag.Int("step-runs", 50, "its runs")
	stepNumbers = flag.Int("step-numbers", 20, "its numbers")
)

// BenchmarkPlanningStep has the planners of numbers step in turn over the runs of an SQLite ledger,
// with tier and shares: each step claims segments, composes a group and commits its intents. It
// prints the median and the 99th percentile of a step's time, the same of the processor time of the
// planner's thread, which does not depend on the machine's load, the processor time of the whole
// process for a step, and the peak memory of the process. The difference of both times is the
// commit, on the ledger's thread, and the wait for a processor.
func BenchmarkPlanningStep(b *testing.B) {
	numbers, runs := *stepNumbers, *stepRuns
	ctx := b.Context()
	l, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "step.db"), ledger.Options{Sender: true})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // a benchmark
	var ids []string
	for i := range numbers {
		ids = append(ids, fmt.Sprintf("conn_%d", i+1))
	}
	for i := range runs {
		load(ctx, b, l, i, named(ids, i), *stepRows/int64(runs))
	}
	e, err := New(l, nil, nil, Options{Owner: "a", Lease: time.Hour,
		Tier: func(string) campaign.Tier { return campaign.Tier{Portfolio: "main", Places: 100_000_000} }})
	if err != nil {
		b.Fatal(err)
	}
	var workers []*worker
	if err := e.refresh(ctx, func(w *worker) { workers = append(workers, w) }); err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var took, worked []time.Duration
	granted := 0
	all := processTime()
	for i := 0; b.Loop(); i++ {
		p := workers[i%len(workers)].planner
		began, before := time.Now(), threadTime()
		if _, err := p.step(ctx); err != nil {
			b.Fatal(err)
		}
		took, worked = append(took, time.Since(began)), append(worked, threadTime()-before)
		granted += len(p.queue.remove(func(*attempt) bool { return true }))
	}
	b.ReportMetric(float64((processTime()-all).Microseconds())/float64(len(took)), "cpu-us/step")
	for unit, times := range map[string][]time.Duration{"us": took, "cpu-us": worked} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds()), unit+"/median")
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), unit+"/p99")
	}
	b.ReportMetric(float64(granted)/float64(len(took)), "rows/step")
	b.ReportMetric(peakMemory(), "MB/peak")
}

// named are the numbers of the i-th run: all, or ten of them if there are more than a campaign may
// name.
func named(ids []string, i int) []string {
	const most, some = 100, 10
	if len(ids) <= most {
		return ids
	}
	from := i * some % (len(ids) - some + 1)
	return ids[from : from+some]
}

// load makes a run of so many rows that is ready.
func load(ctx context.Context, b *testing.B, l campaign.Ledger, i int, connections []string, rows int64) {
	b.Helper()
	source := fmt.Sprintf("name: run%d\nconnections: [%s]\ntemplate: {name: a, language: en, category: UTILITY}\nlimits: {weight: %d}\n",
		i, strings.Join(connections, ", "), 1+i%5)
	r, err := l.CreateRun(ctx, campaign.Run{Campaign: fmt.Sprint("run", i), ListHash: "step", Definition: []byte(source),
		Header: []string{"to"}, Template: "a", Language: "en", Wanted: campaign.WantRun})
	if err != nil {
		b.Fatal(err)
	}
	size := campaign.SegmentFor(rows, len(connections))
	for n, done := int64(0), int64(0); done < rows; n++ {
		lo, m := n*campaign.SegmentSize, min(size, rows-done)
		var all []campaign.Delivery
		for k := range m {
			to := 2_348_030_000_000 + int64(i)*rows + done + k
			all = append(all, campaign.Delivery{Seq: lo + k, Row: done + k + 1, To: fmt.Sprintf("+%d", to), Key: to,
				Cells: []string{fmt.Sprint(to)}})
		}
		if err := l.AppendRows(ctx, r.No, done, all, []campaign.Segment{{Run: r.No, Index: n, Lo: lo, Hi: lo + m}}); err != nil {
			b.Fatal(err)
		}
		done += m
	}
	if err := l.FinishImport(ctx, r.No, rows, campaign.Ready); err != nil {
		b.Fatal(err)
	}
}

// peakMemory is the most that the process had in memory, in megabytes; 0 where the system does not
// tell.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		return 0
	}
	kb, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		return 0
	}
	return kb / 1000
}
