//go:build unix

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
)

// results has the figures of one run of this program.
type results struct {
	Go, OS      string
	CPUs        int
	Repetitions int
	Messages    int
	Workers     int
	Sending     []*comparison
	Import      importComparison
	Memory      []memoryUse
}

// figure is the median of several repetitions with their extremes.
type figure struct{ Median, Least, Most float64 }

// of returns the figure of some values.
func of(values []float64) figure {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return figure{}
	}
	return figure{Median: (v[(len(v)-1)/2] + v[len(v)/2]) / 2, Least: v[0], Most: v[len(v)-1]}
}

// print formats a figure with a number of digits after the point.
func (f figure) print(digits int) string {
	return fmt.Sprintf("%.*f (%.*f..%.*f)", digits, f.Median, digits, f.Least, digits, f.Most)
}

// comparison compares campaignd with the bare loop at one batch size.
type comparison struct {
	Batch           int // statuses in one POST
	Bare, Campaignd []sent
	Limited         []sent // campaignd with a tier, an allowance and a frequency cap
	// Ratio is messages per second of campaignd divided by those of the bare loop. CPURatio is the
	// same of CPU time per message.
	Ratio, CPURatio figure
	// LimitedRatio and LimitedCPURatio divide Limited by Campaignd.
	LimitedRatio, LimitedCPURatio figure
}

// importComparison compares the import of a file with encoding/csv.
type importComparison struct {
	Rows        int64
	CSV, Import []pace
	Ratio       figure // rows per second of the import divided by those of encoding/csv
}

// memoryUse is the memory of one run.
type memoryUse struct {
	Rows      int64
	Peak      int64 // bytes
	PerSecond float64
	CPU       float64 // microseconds per message
}

func newResults(o options) *results {
	return &results{
		Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Repetitions: o.repetitions, Messages: o.messages, Workers: o.workers,
	}
}

func (r *results) add(batch int, bare, campaignd, limited sent) {
	at := slices.IndexFunc(r.Sending, func(b *comparison) bool { return b.Batch == batch })
	if at < 0 {
		at = len(r.Sending)
		r.Sending = append(r.Sending, &comparison{Batch: batch})
	}
	r.Sending[at].Bare = append(r.Sending[at].Bare, bare)
	b := r.Sending[at]
	b.Campaignd, b.Limited = append(b.Campaignd, campaignd), append(b.Limited, limited)
	b.Ratio, b.CPURatio = ratio(b.Campaignd, b.Bare, sent.perSecond), ratio(b.Campaignd, b.Bare, sent.perMessage)
	b.LimitedRatio = ratio(b.Limited, b.Campaignd, sent.perSecond)
	b.LimitedCPURatio = ratio(b.Limited, b.Campaignd, sent.perMessage)
}

func (b *importComparison) add(i imported) {
	b.Rows = i.Import.Rows
	b.CSV, b.Import = append(b.CSV, i.CSV), append(b.Import, i.Import)
	b.Ratio = ratio(b.Import, b.CSV, pace.perSecond)
}

// each returns the figure of one value of each repetition.
func each[T any](all []T, value func(T) float64) figure {
	var v []float64
	for _, one := range all {
		v = append(v, value(one))
	}
	return of(v)
}

// ratio returns the figure of the quotients of the i-th values of both.
func ratio[T any](over, under []T, value func(T) float64) figure {
	var v []float64
	for i := range over {
		v = append(v, value(over[i])/value(under[i]))
	}
	return of(v)
}

func (p pace) perSecond() float64  { return float64(p.Rows) / p.Elapsed.Seconds() }
func (p pace) perRow() float64     { return float64(p.CPU.Microseconds()) / float64(p.Rows) }
func (s sent) perSecond() float64  { return s.PerSecond }
func (s sent) perMessage() float64 { return s.CPU }
func (s sent) ofSink() float64     { return s.SinkCPU }

// growth returns the memory of each row beyond those of the smallest run, in bytes. It is not known
// with one run.
func (r *results) growth() (perRow float64, known bool) {
	if len(r.Memory) < 2 {
		return 0, false
	}
	first, last := r.Memory[0], r.Memory[len(r.Memory)-1]
	return float64(last.Peak-first.Peak) / float64(last.Rows-first.Rows), true
}

// print writes the tables.
func (r *results) print(out io.Writer) error {
	fmt.Fprintf(out, "%s %s, %d CPUs; median (least..most) of %d\n\n", r.Go, r.OS, r.CPUs, r.Repetitions)
	fmt.Fprintf(out, "Sending %d messages, %d in flight, to a sink in its own process on the same CPUs; "+
		"each message brings %d signed webhooks.\n", r.Messages, r.Workers, stagesOf(r.Sending[0].Batch))
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "statuses\t\tmessages/s\tCPU us/message\tof the sink")
	for _, b := range r.Sending {
		how := how(b.Batch)
		for _, side := range []struct {
			name string
			all  []sent
		}{{"bare net/http loop", b.Bare}, {"campaignd", b.Campaignd}, {"with tier, allowance, cap", b.Limited}} {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", how, side.name, each(side.all, sent.perSecond).print(0),
				each(side.all, sent.perMessage).print(1), each(side.all, sent.ofSink).print(1))
		}
		fmt.Fprintf(w, "%s\tcampaignd / bare\t%s\t%s\t\n", how, b.Ratio.print(2), b.CPURatio.print(2))
		fmt.Fprintf(w, "%s\twith limits / without\t%s\t%s\t\n", how, b.LimitedRatio.print(2), b.LimitedCPURatio.print(2))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nImporting %d rows into SQLite on disk, compared with reading the same file.\n", r.Import.Rows)
	w = tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "\trows/s\tCPU us/row")
	fmt.Fprintf(w, "encoding/csv alone\t%s\t%s\n",
		each(r.Import.CSV, pace.perSecond).print(0), each(r.Import.CSV, pace.perRow).print(2))
	fmt.Fprintf(w, "campaignd import\t%s\t%s\n",
		each(r.Import.Import, pace.perSecond).print(0), each(r.Import.Import, pace.perRow).print(2))
	fmt.Fprintf(w, "ratio\t%s\t%s\n", r.Import.Ratio.print(3), ratio(r.Import.Import, r.Import.CSV, pace.perRow).print(1))
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nImporting and sending in one process, statuses %s.\n", how(r.Sending[len(r.Sending)-1].Batch))
	w = tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "rows\tpeak memory\tmessages/s\tCPU us/message")
	for _, m := range r.Memory {
		fmt.Fprintf(w, "%d\t%.1f MB\t%.0f\t%.1f\n", m.Rows, float64(m.Peak)/1e6, m.PerSecond, m.CPU)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if perRow, ok := r.growth(); ok {
		fmt.Fprintf(out, "memory grows by %.1f bytes a row\n", perRow)
	}
	return nil
}
