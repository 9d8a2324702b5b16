//go:build unix

package postgres

import (
	"context"
	"fmt"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// perSecond reports how many of n were done in a second of the loop's time.
func perSecond(b *testing.B, n int64, what string) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), what+"/s")
}

func BenchmarkPostgresImport(b *testing.B) {
	const chunk = 10_000
	l := openShared(b, ledger.Options{Sender: true})
	r, err := l.CreateRun(context.Background(), campaign.Run{Campaign: "spring", ListHash: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	at := int64(0)
	for b.Loop() {
		b.StopTimer()
		ds := ledgertest.Rows(at, at+chunk)
		var segments []campaign.Segment
		for lo := at / campaign.SegmentSize * campaign.SegmentSize; lo < at+chunk; lo += campaign.SegmentSize {
			segments = append(segments, campaign.Segment{
				Index: lo / campaign.SegmentSize, Lo: lo, Hi: min(at+chunk, lo+campaign.SegmentSize)})
		}
		b.StartTimer()
		if err := l.AppendRows(context.Background(), r.No, at, ds, segments); err != nil {
			b.Fatal(err)
		}
		at += chunk
	}
	perSecond(b, at, "rows")
}

func BenchmarkPostgresIntendRecord(b *testing.B) {
	for _, size := range []int64{4, 64, 256} {
		b.Run(fmt.Sprintf("G=%d", size), func(b *testing.B) {
			l := openShared(b, ledger.Options{Sender: true})
			var leases []campaign.Lease
			var from, sent int64
			for b.Loop() {
				b.StopTimer()
				if len(leases) == 0 {
					leases = ledgertest.ClaimAll(b, l, ledgertest.Load(b, l, 25*campaign.SegmentSize).No)
					from = leases[0].Lo
				}
				s := leases[0]
				rs := ledgertest.Acceptances(s, from, from+size)
				in := campaign.Intent{Lease: s, Connection: "conn_1", From: from, To: from + size}
				for _, x := range rs {
					in.Keys = append(in.Keys, 2348030000000+x.Seq)
				}
				b.StartTimer()
				if g, err := l.Intend(context.Background(), []campaign.Intent{in}); err != nil || g[0].To != in.To {
					b.Fatalf("got %+v, %v; want no error, To %+v", g, err, in.To)
				}
				if err := l.Record(context.Background(), rs); err != nil {
					b.Fatal(err)
				}
				sent += size
				if from += size; from == s.Hi {
					if leases = leases[1:]; len(leases) > 0 {
						from = leases[0].Lo
					}
				}
			}
			perSecond(b, sent, "messages")
		})
	}
}

// BenchmarkPostgresStatuses applies sent, delivered and read of each message in a realistic
// order, one batch after the other on one connection.
func BenchmarkPostgresStatuses(b *testing.B) {
	for _, size := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			const n = 25 * campaign.SegmentSize
			l := openShared(b, ledger.Options{Sender: true})
			var all []campaign.StatusEvent
			done := int64(0)
			for b.Loop() {
				b.StopTimer()
				if len(all) < size {
					all = inNearlyTheirOrder(sentAll(b, l, n).No, n)
				}
				b.StartTimer()
				if _, err := l.Apply(context.Background(), campaign.Events{Statuses: all[:size]}); err != nil {
					b.Fatal(err)
				}
				all = all[size:]
				done += int64(size)
			}
			perSecond(b, done, "statuses")
		})
	}
}

// BenchmarkPostgresStatusesOfFour applies the same batches over all connections of the pool.
func BenchmarkPostgresStatusesOfFour(b *testing.B) {
	const n, size = 50 * campaign.SegmentSize, 64
	l := openShared(b, ledger.Options{Sender: true})
	all := make(chan []campaign.StatusEvent, 4*n/size)
	fill := func() {
		es := inNearlyTheirOrder(sentAll(b, l, n).No, n)
		for ; len(es) >= size; es = es[size:] {
			all <- es[:size]
		}
	}
	fill()
	b.SetParallelism(2)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			select {
			case es := <-all:
				if _, err := l.Apply(context.Background(), campaign.Events{Statuses: es}); err != nil {
					b.Error(err)
				}
			default:
				b.Error("out of events: lower -benchtime")
				return
			}
		}
	})
	perSecond(b, int64(b.N)*size, "statuses")
}

// BenchmarkAdoptDoubts measures the adoption of 10,000 doubts.
func BenchmarkAdoptDoubts(b *testing.B) {
	ledgertest.AdoptDoubts(b, openShared(b, ledger.Options{Sender: true}))
}
