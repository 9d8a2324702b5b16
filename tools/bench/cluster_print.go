//go:build unix

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

func (s period) perSecond() float64  { return s.PerSecond }
func (s period) perMessage() float64 { return s.CPU }
func (s period) ofDatabase() float64 { return s.DatabaseCPU }
func (s period) ofRedis() float64    { return s.RedisCalls }
func (s period) ofCommits() float64  { return s.Commits }
func (s period) ofSink() float64     { return s.SinkCPU }
func (s sent) ofDatabase() float64   { return s.DatabaseCPU }
func (c copied) imported() float64   { return c.Import.perSecond() }
func (c copied) appended() float64   { return c.Append.perSecond() }
func (c copied) psql() float64       { return c.Psql.perSecond() }
func (a applied) perSecond() float64 { return a.PerSecond }
func (a applied) perEvent() float64  { return a.CPU }
func (a applied) database() float64  { return a.DatabaseCPU }

// costliest returns the highest CPU time per message among the replicas.
func (s period) costliest() (most float64) {
	for _, one := range s.Each {
		most = max(most, one)
	}
	return most
}

// print writes the tables.
func (r *shared) print(out io.Writer) error {
	fmt.Fprintf(out, "%s %s, %d CPUs, PostgreSQL %s with its default settings on disk, redis-server; median (least..most) of %d\n\n",
		r.Go, r.OS, r.CPUs, r.PostgreSQL, r.Repetitions)
	sections := []func(io.Writer) error{r.printOne, r.printReplicas, r.printCopy, r.printEvents, r.printMillion}
	if r.One.Batch == silence { // only one replica was measured
		sections = sections[:1]
	}
	for _, section := range sections {
		if err := section(out); err != nil {
			return err
		}
	}
	b := r.BytesPerDelivery
	_, err := fmt.Fprintf(out, "\nA delivery with its statuses takes %.0f bytes of the database with all indexes: "+
		"%.0f for the imported row, %.0f for its outcome,\n%.0f for statuses that came before their receipt was stored.\n",
		b["total"], b["delivery"], b["outcome"], b["orphan"])
	return err
}

// table returns a writer of aligned columns with their heads.
func table(out io.Writer, heads ...string) *tabwriter.Writer {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, strings.Join(heads, "\t"))
	return w
}

func (r *shared) printOne(out io.Writer) error {
	fmt.Fprintf(out, "One replica: %d messages, %d in flight; each brings %d signed webhooks, %s. Everything on the same CPUs.\n",
		r.Messages, r.Workers, stagesOf(r.One.Batch), how(r.One.Batch))
	w := table(out, "", "messages/s", "CPU us/message", "of PostgreSQL", "of the sink")
	bare, own := r.One.Bare, r.One.Campaignd
	fmt.Fprintf(w, "bare net/http loop\t%s\t%s\t\t%s\n",
		each(bare, sent.perSecond).print(0), each(bare, sent.perMessage).print(1), each(bare, sent.ofSink).print(1))
	fmt.Fprintf(w, "campaignd\t%s\t%s\t%s\t%s\n", each(own, sent.perSecond).print(0), each(own, sent.perMessage).print(1),
		each(own, sent.ofDatabase).print(1), each(own, sent.ofSink).print(1))
	fmt.Fprintf(w, "ratio\t%s\t%s\t\t\n", r.One.Ratio.print(2), r.One.CPURatio.print(2))
	return w.Flush()
}

func (r *shared) printReplicas(out io.Writer) error {
	fmt.Fprintf(out, "\nReplicas on %d numbers, with a sink that answers after %v; measured for %.0f s. CPU us/message.\n",
		connections, slowAnswer, r.PeriodSeconds)
	w := table(out, "replicas", "each number", "messages/s", "of the pace", "CPU", "of bare loops", "ratio", "of the costliest",
		"of PostgreSQL", "of the sink", "transactions/message", "Redis calls/message")
	for _, f := range r.Replicas {
		all := f.Periods
		rate := each(all, period.perSecond)
		how := fmt.Sprintf("%v/s", f.Rate)
		if f.Limits {
			how += " with tier, allowance, cap"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%.3f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Replicas, how, rate.print(1), rate.Median/f.Pace,
			each(all, period.perMessage).print(0), each(f.Bare, period.perMessage).print(0), f.CPURatio.print(2),
			each(all, period.costliest).print(0),
			each(all, period.ofDatabase).print(0), each(all, period.ofSink).print(0),
			each(all, period.ofCommits).print(2), each(all, period.ofRedis).print(2))
	}
	return w.Flush()
}

func (r *shared) printCopy(out io.Writer) error {
	fmt.Fprintf(out, "\nImporting %d rows, compared with psql's \\copy of the same columns into a table with the same indexes.\n",
		r.Copy[0].Append.Rows)
	w := table(out, "", "rows/s", "of psql")
	appended := each(r.Copy, func(c copied) float64 { return c.appended() / c.psql() })
	imported := each(r.Copy, func(c copied) float64 { return c.imported() / c.psql() })
	fmt.Fprintf(w, "psql's \\copy\t%s\t\n", each(r.Copy, copied.psql).print(0))
	fmt.Fprintf(w, "COPY of the import, with its commits\t%s\t%s\n", each(r.Copy, copied.appended).print(0), appended.print(2))
	fmt.Fprintf(w, "the whole import: read, checked twice\t%s\t%s\n", each(r.Copy, copied.imported).print(0), imported.print(2))
	return w.Flush()
}

func (r *shared) printEvents(out io.Writer) error {
	fmt.Fprintln(out, "\nWebhook events durably applied, one batch after another.")
	w := table(out, "batch", "events/s", "CPU us/event", "of PostgreSQL")
	for i, batch := range eventBatches {
		var all []applied
		for _, repetition := range r.Events {
			all = append(all, repetition[i])
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", batch, each(all, applied.perSecond).print(0),
			each(all, applied.perEvent).print(1), each(all, applied.database).print(1))
	}
	return w.Flush()
}

func (r *shared) printMillion(out io.Writer) error {
	m := r.Million
	if m == nil {
		return nil
	}
	fmt.Fprintf(out, "\n%d rows on %d replicas, imported by one of them: "+
		"the first message after %.0f s, %.0f messages/s with their statuses.\n", m.Rows, len(m.Peak), m.Imported, m.PerSecond)
	w := table(out, "replica", "messages", "peak memory")
	for i := range m.Peak {
		fmt.Fprintf(w, "%d\t%d\t%.1f MB\n", i+1, m.Posts[i], float64(m.Peak[i])/1e6)
	}
	return w.Flush()
}
