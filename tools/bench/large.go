//go:build unix

package main

import (
	"errors"
	"fmt"
)

// largeReplicas is how many replicas send a large list.
const largeReplicas = 4

// large measures a list of -large rows that four replicas import and send on PostgreSQL, to a
// service without latency. Then it asks about the run, and retention deletes it.
func (b *bench) large() (err error) {
	c, end, err := b.servers()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	program, err := b.build()
	if err != nil {
		return err
	}
	fmt.Fprintln(b.out, c.machine)
	return c.million(b.rowsLarge, largeReplicas, func(f *running) error {
		sizes, err := f.ask(`SELECT 'database', pg_size_pretty(pg_database_size(current_database()))`,
			`SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class
				WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY pg_total_relation_size(oid) DESC LIMIT 4`)
		if err != nil {
			return err
		}
		fmt.Fprintln(b.out, sizes)
		q := &questions{cluster: c, database: f.database, program: program}
		if err := errors.Join(q.command("report", "latest"), q.command("report", "latest"), q.command("audit", "latest"),
			q.command("person", recipient(b.rowsLarge/2).to)); err != nil {
			return err
		}
		return f.retire(int64(b.rowsLarge))
	})
}
