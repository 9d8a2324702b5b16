package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
)

// cluster is a run of this program with -cluster: everything on one PostgreSQL and one redis-server, which are
// started for it with their usual settings, PostgreSQL's files on disk and every commit flushed. It measures
//
//   - one replica beside the bare loop, and what its ledger weighs afterwards;
//   - one, two and four replicas that share four numbers with a service that answers slowly, and one that sends as
//     seldom as each of the four;
//   - an import beside psql's own \copy of the same columns;
//   - statuses applied durably in batches;
//   - memory and rate of two replicas that import and send a million rows.
type cluster struct {
	*bench
	postgres *postgresServer
	redis    *redis
}

// shared are the figures of a cluster.
type shared struct {
	Go, OS, PostgreSQL string
	CPUs, Repetitions  int
	Messages, Workers  int
	SpellSeconds       float64
	One                *beside
	Replicas           []*fleet
	Copy               []copied
	Events             [][]applied        // of each repetition
	Million            *million           `json:",omitempty"` // once, unless -quick
	BytesPerDelivery   map[string]float64 // by table with its indexes, and in total
}

// fleet are the spells of a crowd.
type fleet struct {
	crowd
	Pace     float64 // messages per second of all numbers together
	Spells   []spell
	CPURatio figure // CPU per message against one replica of the same repetition
}

// cluster measures everything.
func (b *bench) cluster() (_ *shared, err error) {
	c := &cluster{bench: b}
	if c.postgres, err = startPostgres(b.ctx, filepath.Join(b.dir, "postgres")); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.postgres.end()) }()
	if c.redis, err = startRedis(b.ctx, filepath.Join(b.dir, "redis")); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.redis.end()) }()
	r := &shared{
		Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Repetitions: b.repetitions, Messages: b.messages,
		Workers: b.workers, SpellSeconds: b.spell.Seconds(), One: &beside{Batch: 64}, BytesPerDelivery: map[string]float64{},
	}
	if r.PostgreSQL, err = c.postgres.psql(b.ctx, "postgres", "SHOW server_version"); err != nil {
		return nil, err
	}
	for _, many := range crowds {
		r.Replicas = append(r.Replicas, &fleet{crowd: many, Pace: many.pace()})
	}
	for i := range b.repetitions {
		if err := c.repeat(r, i); err != nil {
			return nil, err
		}
	}
	if !b.quick {
		c.note("%d rows on %d replicas", millionRows, millionReplicas)
		m, err := c.million()
		if err != nil {
			return nil, fmt.Errorf("%d rows on %d replicas: %w", millionRows, millionReplicas, err)
		}
		r.Million = &m
	}
	return r, nil
}

// repeat measures everything once. What is compared stands side by side, the other one first each second time.
func (c *cluster) repeat(r *shared, i int) error {
	c.note("repetition %d of %d: %d messages of one replica and of the bare loop", i+1, c.repetitions, c.messages)
	var got [2]sent
	for k := range got {
		side := (k + i) % 2
		measure := func() (sent, error) { return c.bareLoop(r.One.Batch) }
		if side == 1 {
			measure = func() (sent, error) { return c.alone(r) }
		}
		var err error
		if got[side], err = measure(); err != nil {
			return fmt.Errorf("one replica beside the bare loop: %w", err)
		}
	}
	if got[0].Bytes != got[1].Bytes {
		return fmt.Errorf("the bare loop posted %d bytes, campaignd %d: they do not do the same", got[0].Bytes, got[1].Bytes)
	}
	one := r.One
	one.Bare, one.Campaignd = append(one.Bare, got[0]), append(one.Campaignd, got[1])
	one.Ratio, one.CPURatio = ratio(one.Campaignd, one.Bare, sent.perSecond), ratio(one.Campaignd, one.Bare, sent.perMessage)
	for k := range r.Replicas {
		f := r.Replicas[k]
		if i%2 == 1 {
			f = r.Replicas[len(r.Replicas)-1-k]
		}
		c.note("four numbers of %v/s, sent over for %v by %d", f.Rate, c.spell, f.Replicas)
		s, err := c.share(f.crowd)
		if err != nil {
			return fmt.Errorf("%d replicas: %w", f.Replicas, err)
		}
		f.Spells = append(f.Spells, s)
	}
	for _, f := range r.Replicas {
		f.CPURatio = ratio(f.Spells, r.Replicas[0].Spells, spell.perMessage)
	}
	c.note("importing %d rows beside psql's \\copy", c.rows)
	copied, err := c.copying()
	if err != nil {
		return fmt.Errorf("importing: %w", err)
	}
	r.Copy = append(r.Copy, copied)
	c.note("applying statuses")
	applied, err := c.applying()
	if err != nil {
		return fmt.Errorf("applying statuses: %w", err)
	}
	r.Events = append(r.Events, applied)
	return nil
}

// alone measures one replica that nothing paces, and weighs its ledger.
func (c *cluster) alone(r *shared) (s sent, err error) {
	file, list, err := c.list(c.messages)
	if err != nil {
		return s, err
	}
	db, err := c.database()
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, c.dropDatabase(db)) }()
	if _, err := c.redis.ask("FLUSHALL"); err != nil {
		return s, err
	}
	pid, err := c.postgres.pid()
	if err != nil {
		return s, err
	}
	if s, err = c.against(r.One.Batch, c.messages, "campaignd", func(sink string) any {
		return productJob{
			Sink: sink, File: file, List: list, Ledger: c.postgres.url(db), Redis: c.redisURL(), Rate: unpaced, InFlight: c.workers / connections, Postgres: pid,
		}
	}); err != nil {
		return s, err
	}
	out, err := c.postgres.psql(c.ctx, db, `SELECT relname, pg_total_relation_size(oid) FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`)
	if err != nil {
		return s, err
	}
	total := 0.0
	for line := range strings.Lines(out) {
		table, size, _ := strings.Cut(strings.TrimSpace(line), "|")
		bytes, err := strconv.ParseFloat(size, 64)
		if err != nil {
			return s, err
		}
		total += bytes / float64(c.messages)
		r.BytesPerDelivery[table] = bytes / float64(c.messages)
	}
	r.BytesPerDelivery["total"] = total
	return s, nil
}

func (c *cluster) redisURL() string { return "redis://" + c.redis.addr + "/0" }

// database makes an empty database.
func (c *cluster) database() (string, error) {
	c.count++
	name := fmt.Sprintf("bench_%d", c.count)
	_, err := c.postgres.psql(c.ctx, "postgres", "CREATE DATABASE "+name)
	return name, err
}

func (c *cluster) dropDatabase(name string) error {
	_, err := c.postgres.psql(c.ctx, "postgres", "DROP DATABASE "+name+" WITH (FORCE)")
	return err
}

func (s spell) perSecond() float64   { return s.PerSecond }
func (s spell) perMessage() float64  { return s.CPU }
func (s spell) ofDatabase() float64  { return s.DatabaseCPU }
func (s spell) ofRedis() float64     { return s.RedisCalls }
func (s spell) ofCommits() float64   { return s.Commits }
func (s spell) ofSink() float64      { return s.SinkCPU }
func (s sent) ofDatabase() float64   { return s.DatabaseCPU }
func (c copied) imported() float64   { return c.Import.perSecond() }
func (c copied) appended() float64   { return c.Append.perSecond() }
func (c copied) psql() float64       { return c.Psql.perSecond() }
func (a applied) perSecond() float64 { return a.PerSecond }
func (a applied) perEvent() float64  { return a.CPU }
func (a applied) database() float64  { return a.DatabaseCPU }

// dearest is the CPU per message of the replica that needed most.
func (s spell) dearest() (most float64) {
	for _, one := range s.Each {
		most = max(most, one)
	}
	return most
}

// print writes the tables.
func (r *shared) print(out io.Writer) error {
	fmt.Fprintf(out, "%s %s, %d CPUs, PostgreSQL %s with its usual settings on disk, redis-server; median (least..most) of %d\n\n", r.Go, r.OS, r.CPUs, r.PostgreSQL, r.Repetitions)
	fmt.Fprintf(out, "One replica: %d messages, %d in flight; each brings three signed webhooks, in POSTs of 64. Everything on the same CPUs.\n", r.Messages, r.Workers)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "\tmessages/s\tCPU us/message\tof PostgreSQL\tof the sink")
	fmt.Fprintf(w, "bare net/http loop\t%s\t%s\t\t%s\n", each(r.One.Bare, sent.perSecond).print(0), each(r.One.Bare, sent.perMessage).print(1), each(r.One.Bare, sent.ofSink).print(1))
	fmt.Fprintf(w, "campaignd\t%s\t%s\t%s\t%s\n", each(r.One.Campaignd, sent.perSecond).print(0), each(r.One.Campaignd, sent.perMessage).print(1),
		each(r.One.Campaignd, sent.ofDatabase).print(1), each(r.One.Campaignd, sent.ofSink).print(1))
	fmt.Fprintf(w, "ratio\t%s\t%s\t\t\n", r.One.Ratio.print(2), r.One.CPURatio.print(2))
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nReplicas on %d numbers, with a sink that answers after %v; watched for %.0f s. CPU us/message.\n", connections, slowAnswer, r.SpellSeconds)
	w = tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "replicas\teach number\tmessages/s\tof the pace\tCPU\tagainst one\tof the dearest\tof PostgreSQL\tof the sink\ttransactions/message\tRedis calls/message")
	for _, f := range r.Replicas {
		rate := each(f.Spells, spell.perSecond)
		fmt.Fprintf(w, "%d\t%v/s\t%s\t%.3f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Replicas, f.Rate, rate.print(1), rate.Median/f.Pace, each(f.Spells, spell.perMessage).print(0), f.CPURatio.print(2),
			each(f.Spells, spell.dearest).print(0), each(f.Spells, spell.ofDatabase).print(0), each(f.Spells, spell.ofSink).print(0),
			each(f.Spells, spell.ofCommits).print(2), each(f.Spells, spell.ofRedis).print(2))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nImporting %d rows, beside psql's \\copy of the same columns into a table with the same indexes.\n", r.Copy[0].Append.Rows)
	w = tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "\trows/s\tof psql")
	fmt.Fprintf(w, "psql's \\copy\t%s\t\n", each(r.Copy, copied.psql).print(0))
	fmt.Fprintf(w, "COPY of the import, with its commits\t%s\t%s\n", each(r.Copy, copied.appended).print(0), each(r.Copy, func(c copied) float64 { return c.appended() / c.psql() }).print(2))
	fmt.Fprintf(w, "the whole import: read, checked twice\t%s\t%s\n", each(r.Copy, copied.imported).print(0), each(r.Copy, func(c copied) float64 { return c.imported() / c.psql() }).print(2))
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nWebhook events durably applied, one batch after another.")
	w = tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "batch\tevents/s\tCPU us/event\tof PostgreSQL")
	for i, batch := range eventBatches {
		var all []applied
		for _, repetition := range r.Events {
			all = append(all, repetition[i])
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", batch, each(all, applied.perSecond).print(0), each(all, applied.perEvent).print(1), each(all, applied.database).print(1))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if m := r.Million; m != nil {
		fmt.Fprintf(out, "\n%d rows on %d replicas, imported by one of them: the first message after %.0f s, %.0f messages/s with their statuses.\n", m.Rows, len(m.Peak), m.Imported, m.PerSecond)
		w = tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
		fmt.Fprintln(w, "replica\tmessages\tpeak memory")
		for i := range m.Peak {
			fmt.Fprintf(w, "%d\t%d\t%.1f MB\n", i+1, m.Posts[i], float64(m.Peak[i])/1e6)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	b := r.BytesPerDelivery
	_, err := fmt.Fprintf(out, "\nA delivery with its three statuses takes %.0f bytes of the database, indexes and all: %.0f what was imported, %.0f what became of it,\n%.0f room that statuses left which came before their receipt was stored.\n", b["total"], b["delivery"], b["outcome"], b["orphan"])
	return err
}
