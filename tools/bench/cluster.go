//go:build unix

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"campaignd/throttle/throughput"
)

// clusterTables has the figures of a run of this program with -cluster:
//
//   - one replica against the bare loop, and the size of its ledger afterwards;
//   - one, two and four replicas that share four numbers with a service that answers slowly, and
//     one replica at the rate of each of the four, each against as many bare loops;
//   - an import against psql's own \copy of the same columns.
type clusterTables struct{ one, size, replicas, copies *table }

// setting is the number of replicas that share four numbers, and the rate of each number in
// messages per second.
type setting struct {
	replicas int
	rate     float64
	limits   bool // a tier that all numbers share, an allowance and a frequency cap
}

// settings are the measured settings. In the last one, one replica has the rate of each of four
// replicas. At such a rate the processor is in a sleep state between messages and its caches are
// empty, so a message costs more CPU time also without other replicas.
var settings = []setting{
	{replicas: 1, rate: 100}, {replicas: 2, rate: 100}, {replicas: 4, rate: 100}, {replicas: 4, rate: 100, limits: true},
	{replicas: 1, rate: 25},
}

// pace returns the pace of all numbers together. It is below their limits by a margin and by the
// share for inbound messages (docs/limits.md#pace).
func (s setting) pace() float64 { return connections * throughput.Number{Limit: s.rate}.Pace().Rate }

func (s setting) String() string {
	name := fmt.Sprintf("%d\t%v/s", s.replicas, s.rate)
	if s.limits {
		name += " with tier, allowance, cap"
	}
	return name
}

// cluster measures replicas.
func (b *bench) cluster() (err error) {
	c, end, err := b.servers()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	t := clusterTables{
		one:  newTable("", "messages/s", "CPU us/message", "of PostgreSQL", "of the sink"),
		size: newTable("", "bytes"),
		replicas: newTable("replicas", "each number", "messages/s", "of the pace", "CPU us/message", "of bare loops", "ratio",
			"of PostgreSQL", "of the sink", "transactions/message", "Redis calls/message"),
		copies: newTable("", "rows/s", "of psql"),
	}
	for i := range b.repetitions {
		if err := c.repeat(t, i); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "%s with its default settings on disk, redis-server; median (least..most) of %d\n", c.machine, b.repetitions)
	err = errors.Join(
		t.one.print(b.out, "One replica: %d messages, %d in flight; each brings %d signed webhooks, %s. Everything on the same CPUs.",
			b.messages, b.workers, stagesOf(b.most()), how(b.most())),
		t.size.print(b.out, "A delivery with its statuses in the database, with all indexes."),
		t.replicas.print(b.out, "Replicas on %d numbers, with a sink that answers after %v; measured for %v.",
			connections, slowAnswer, b.period),
		t.copies.print(b.out, "Importing %d rows, compared with psql's \\copy of the same columns into a table with the same indexes.",
			b.rows))
	if err != nil || b.quick || b.silent {
		return err
	}
	return c.million(millionRows, millionReplicas, nil)
}

// repeat measures everything once.
func (c *cluster) repeat(t clusterTables, i int) error {
	c.note("repetition %d of %d: %d messages of one replica and of the bare loop", i+1, c.repetitions, c.messages)
	var bare, one sent
	if err := inTurn(i,
		func() (err error) { bare, err = c.bareLoop(c.most()); return err },
		func() (err error) {
			one, err = c.onPostgres(c.most(), c.messages, productJob{}, func(db string) error { return c.perDelivery(t.size, db) })
			return err
		},
	); err != nil {
		return fmt.Errorf("one replica beside the bare loop: %w", err)
	}
	if bare.bytes != one.bytes {
		return fmt.Errorf("the bare loop posted %d bytes, campaignd %d: the requests differ", bare.bytes, one.bytes)
	}
	t.one.add("bare net/http loop", bare.perSecond, bare.cpu, blank, bare.sinkCPU)
	t.one.add("campaignd", one.perSecond, one.cpu, one.databaseCPU, one.sinkCPU)
	t.one.add("ratio", one.perSecond/bare.perSecond, one.cpu/bare.cpu, blank, blank)
	if c.silent {
		return nil
	}
	for _, s := range settings {
		c.note("four numbers of %v/s, sent over for %v by %d, with limits: %v", s.rate, c.period, s.replicas, s.limits)
		var own, loops period
		if err := inTurn(i,
			func() (err error) { own, err = c.share(s); return err },
			func() (err error) { loops, err = c.bareFleet(s); return err },
		); err != nil {
			return fmt.Errorf("%d replicas and bare loops: %w", s.replicas, err)
		}
		t.replicas.add(s.String(), own.perSecond, own.perSecond/s.pace(), own.cpu, loops.cpu, own.cpu/loops.cpu,
			own.databaseCPU, own.sinkCPU, own.commits, own.redisCalls)
	}
	c.note("importing %d rows beside psql's \\copy", c.rows)
	if err := c.copying(t.copies); err != nil {
		return fmt.Errorf("importing: %w", err)
	}
	return nil
}

// clusterProfiles prints CPU profiles of one replica that no rate limits.
func (b *bench) clusterProfiles() (err error) {
	c, end, err := b.servers()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	return b.profiles(func(batch, rows int, with productJob) (sent, error) {
		return c.onPostgres(batch, rows, with, func(string) error { return nil })
	})
}

// onPostgres measures one replica that no rate limits. It calls then before the database is
// dropped.
func (c *cluster) onPostgres(batch, rows int, with productJob, then func(db string) error) (s sent, err error) {
	db, err := c.database()
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, c.dropDatabase(db)) }()
	if _, err := c.askRedis("FLUSHALL"); err != nil {
		return s, err
	}
	with.Ledger, with.Redis, with.Postgres = c.postgres.URL(db), c.redis.URL(0), c.pid
	if s, err = c.product(batch, rows, with); err != nil {
		return s, err
	}
	return s, then(db)
}

// perDelivery adds the bytes of the tables of a delivery. Statuses that came before their receipt
// was stored are in the table orphan.
func (c *cluster) perDelivery(t *table, db string) error {
	out, err := c.postgres.psql(c.ctx, db, `SELECT relname, pg_total_relation_size(oid) FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname IN ('delivery', 'outcome', 'orphan')
		UNION ALL SELECT 'all tables', sum(pg_total_relation_size(oid)) FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1`)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		name, size, _ := strings.Cut(strings.TrimSpace(line), "|")
		bytes, err := strconv.ParseFloat(size, 64)
		if err != nil {
			return err
		}
		t.add(name, bytes/float64(c.messages))
	}
	return nil
}

// share lets replicas send one run over four numbers and measures a period of it.
func (c *cluster) share(many setting) (s period, err error) {
	name, more := "bench", ""
	if many.limits {
		name, more = "capped", capped
	}
	file, list, err := c.inputs(name, more, sharedRows)
	if err != nil {
		return s, err
	}
	f, err := c.fleet(sinkJob{Batch: 64, Delay: slowAnswer}, many.replicas, productJob{
		Campaigns: filepath.Join(c.dir, "no campaigns"), Rate: many.rate, InFlight: c.workers, Limits: many.limits,
	})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	var got imported
	job := importJob{File: file, List: list, Ledger: c.postgres.URL(f.database), SegmentRows: segmentRows}
	if err := c.once("import", job, &got); err != nil {
		return s, err
	}
	return f.measure()
}

// bareFleet lets bare loops post over four numbers at the pace of a setting, and measures a period
// of it. Each has an equal part of the rate.
func (c *cluster) bareFleet(many setting) (s period, err error) {
	f, err := c.fleet(sinkJob{Batch: 64, Delay: slowAnswer}, 0, productJob{})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	for i := range many.replicas {
		job := bareJob{Sink: f.sink, First: i * sharedRows, Rate: many.pace() / float64(many.replicas), Workers: c.workers}
		if err := f.join("bare", job); err != nil {
			return s, err
		}
	}
	return f.measure()
}
