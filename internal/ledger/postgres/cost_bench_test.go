//go:build linux

package postgres

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/pgtest"
	"campaignd/internal/ledger/postgres/connect"
)

// BenchmarkPostgresCost counts what one message costs the server: WAL, transactions and CPU, of
// intents and results by 64, and of its three statuses in batches. Counts of WAL do not depend on
// the load of the machine. No autovacuum, checkpoint or full page is among them. One repetition is
// 20,480 messages: run it with -benchtime=1x.
func BenchmarkPostgresCost(b *testing.B) {
	s, err := pgtest.Start("autovacuum=off", "checkpoint_timeout=1h", "max_wal_size=4GB")
	pgtest.Require(b, err)
	b.Cleanup(s.Stop)
	const n, group = 5 * campaign.SegmentSize, 64
	l := openAt(b, s.Database(b), ledger.Options{Sender: true})
	for _, size := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			for b.Loop() {
				r := ledgertest.Load(b, l, n)
				leases := ledgertest.ClaimAll(b, l, r.No)
				before := costOf(b, s, l)
				for _, lease := range leases {
					for from := lease.Lo; from < lease.Hi; from += group {
						in := campaign.Intent{Lease: lease, Connection: "conn_1", From: from, To: from + group}
						if g, err := l.Intend(context.Background(), []campaign.Intent{in}); err != nil || g[0].To != in.To {
							b.Fatalf("got %+v, %v; want no error, To %d", g, err, in.To)
						}
						if err := l.Record(context.Background(), ledgertest.Acceptances(lease, from, from+group)); err != nil {
							b.Fatal(err)
						}
						lease.Mark = from + group
					}
				}
				sent := costOf(b, s, l)
				for es := range slices.Chunk(inNearlyTheirOrder(r.No, n), size) {
					if _, err := l.Apply(context.Background(), campaign.Events{Statuses: es}); err != nil {
						b.Fatal(err)
					}
				}
				told := costOf(b, s, l)
				b.ReportMetric(0, "ns/op")
				sent.minus(before).report(b, n, "send")
				told.minus(sent).report(b, n, "statuses")
			}
		})
	}
}

// serverCost is what a server has counted since its start.
type serverCost struct{ records, bytes, commits, hot, updates, ticks float64 }

const sqlCost = `SELECT wal_records, wal_bytes::bigint,
	(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
	coalesce(n_tup_hot_upd, 0), coalesce(n_tup_upd, 0)
	FROM pg_stat_wal, pg_stat_user_tables WHERE relname = 'outcome'`

const sqlWorking = `SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'campaignd %'`

// costOf ends the connections, because a backend reports all that it counted when it ends. The one
// that imported rows would otherwise report these among the next messages.
func costOf(b *testing.B, s *pgtest.Server, l *Ledger) (c serverCost) {
	b.Helper()
	pid, err := s.PID()
	if err != nil {
		b.Fatal(err)
	}
	var working []int64
	if err := l.read(context.Background(), l.reports, list(&working, scanID, sqlWorking)); err != nil {
		b.Fatal(err)
	}
	for _, p := range []*connect.Pool{l.sender, l.hooks, l.reports} {
		p.Forget()
	}
	for _, w := range working {
		for { // until the server has waited for it
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", w)); err != nil {
				break
			}
			runtime.Gosched()
		}
	}
	var records, size, commits, hot, updates int64
	if err := l.read(context.Background(), l.reports, rowOf([]any{&records, &size, &commits, &hot, &updates}, sqlCost)); err != nil {
		b.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, fields, _ := bytes.Cut(stat, []byte(") "))
	for _, f := range strings.Fields(string(fields))[13:15] { // cutime and cstime, of the backends that ended (proc(5))
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			b.Fatal(err)
		}
		c.ticks += n
	}
	return serverCost{float64(records), float64(size), float64(commits), float64(hot), float64(updates), c.ticks}
}

func (c serverCost) minus(d serverCost) serverCost {
	return serverCost{c.records - d.records, c.bytes - d.bytes, c.commits - d.commits, c.hot - d.hot, c.updates - d.updates, c.ticks - d.ticks}
}

// report reports the cost for each of n messages.
func (c serverCost) report(b *testing.B, n float64, what string) {
	b.ReportMetric(c.records/n, what+"-records")
	b.ReportMetric(c.bytes/n, what+"-bytes")
	b.ReportMetric(c.commits/n, what+"-commits")
	b.ReportMetric(c.ticks*10_000/n, what+"-cpu-us")
	if c.updates > 0 {
		b.ReportMetric(100*c.hot/c.updates, what+"-hot-%")
	}
}
