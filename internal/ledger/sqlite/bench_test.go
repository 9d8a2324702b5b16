//go:build unix

package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

// meter adds up the processor time between start and stop. Only that compares on a busy machine, or
// on one with a slow disk.
type meter struct {
	b     *testing.B
	begun time.Duration
	spent time.Duration
}

func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (m *meter) start() { m.begun = cpu(); m.b.StartTimer() }

func (m *meter) stop() { m.b.StopTimer(); m.spent += cpu() - m.begun }

// report reports the times of a message, not those of an iteration.
func (m *meter) report(n int64) {
	m.b.ReportMetric(float64(m.b.Elapsed().Nanoseconds())/float64(n), "ns/message")
	m.b.ReportMetric(float64(m.spent.Nanoseconds())/float64(n), "cpu-ns/message")
}

func BenchmarkImport(b *testing.B) {
	const chunk = 2000
	l := openTest(b, ledger.Options{})
	r, err := l.CreateRun(context.Background(), campaign.Run{Campaign: "spring", ListHash: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	at, m := int64(0), meter{b: b}
	for b.Loop() {
		b.StopTimer()
		ds := ledgertest.Rows(at, at+chunk)
		var segments []campaign.Segment
		for lo := at / campaign.SegmentSize * campaign.SegmentSize; lo < at+chunk; lo += campaign.SegmentSize {
			segments = append(segments, campaign.Segment{Index: lo / campaign.SegmentSize, Lo: lo, Hi: min(at+chunk, lo+campaign.SegmentSize)})
		}
		m.start()
		if err := l.AppendRows(context.Background(), r.No, at, ds, segments); err != nil {
			b.Fatal(err)
		}
		m.stop()
		at += chunk
		b.StartTimer()
	}
	m.report(at)
}

func BenchmarkIntendRecord(b *testing.B) {
	// G of each is the deliveries of an intent; people: with a tier and a frequency cap.
	for _, c := range []struct {
		group  int64
		people bool
	}{{64, false}, {64, true}, {256, false}, {256, true}} {
		group := c.group
		b.Run(fmt.Sprintf("G=%d,people=%v", group, c.people), func(b *testing.B) {
			l := openTest(b, ledger.Options{})
			var leases []campaign.Lease
			var from, sent int64
			m := meter{b: b}
			for b.Loop() {
				b.StopTimer()
				if len(leases) == 0 {
					leases = ledgertest.ClaimAll(b, l, ledgertest.Load(b, l, 25*campaign.SegmentSize).No)
					from = leases[0].Lo
				}
				s := leases[0]
				rs := ledgertest.Acceptances(s, from, from+group)
				m.start()
				in := []campaign.Intent{{Lease: s, Connection: "conn_1", From: from, To: from + group}}
				if c.people {
					in[0].Tier = campaign.Tier{Portfolio: "main", Places: 1e9}
					in[0].Cap = &campaign.FrequencyLimit{Messages: 1000, Per: campaign.Duration(24 * time.Hour)}
				}
				if _, err := l.Intend(context.Background(), in); err != nil {
					b.Fatal(err)
				}
				if err := l.Record(context.Background(), rs); err != nil {
					b.Fatal(err)
				}
				m.stop()
				sent += group
				if from += group; from == s.Hi {
					if leases = leases[1:]; len(leases) > 0 {
						from = leases[0].Lo
					}
				}
				b.StartTimer()
			}
			m.report(sent)
		})
	}
}

// sentRun is a run of n accepted deliveries.
func sentRun(b *testing.B, l *Ledger, n int64) campaign.Run {
	r := ledgertest.Load(b, l, n)
	for _, s := range ledgertest.ClaimAll(b, l, r.No) {
		if _, err := l.Intend(context.Background(), []campaign.Intent{{Lease: s, Connection: "conn_1", From: s.Lo, To: s.Hi}}); err != nil {
			b.Fatal(err)
		}
		if err := l.Record(context.Background(), ledgertest.Acceptances(s, s.Lo, s.Hi)); err != nil {
			b.Fatal(err)
		}
	}
	return r
}

// BenchmarkStatuses applies sent, delivered and read of each message in batches of 256, and nearly
// in the order of sending, as webhooks do.
func BenchmarkStatuses(b *testing.B) {
	const n, batch = 50 * campaign.SegmentSize, 256
	l := openTest(b, ledger.Options{})
	var all []campaign.StatusEvent
	rng := rand.New(rand.NewPCG(1, 1))
	done, m := int64(0), meter{b: b}
	for b.Loop() {
		b.StopTimer()
		if len(all) < batch {
			r := sentRun(b, l, n)
			all = all[:0]
			for _, s := range []campaign.Status{campaign.Sent, campaign.Delivered, campaign.Read} {
				for seq := range int64(n) {
					all = append(all, campaign.StatusEvent{MessageID: ledgertest.MessageID(r.No, seq), Status: s, At: time.Now()})
				}
			}
			for i := range all {
				j := min(len(all)-1, i+rng.IntN(2000))
				all[i], all[j] = all[j], all[i]
			}
		}
		m.start()
		if a, err := l.Apply(context.Background(), campaign.Events{Statuses: all[:batch]}); err != nil || a.Matched != batch {
			b.Fatalf("got %+v, %v; want no error, Matched %d", a, err, batch)
		}
		m.stop()
		all = all[batch:]
		done += batch
		b.StartTimer()
	}
	m.report(done)
}

func BenchmarkTallies(b *testing.B) {
	const n = 50 * campaign.SegmentSize
	l := openTest(b, ledger.Options{})
	r := sentRun(b, l, n)
	for b.Loop() {
		if _, _, err := l.Tallies(context.Background(), r.No); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/message")
}

// BenchmarkSweepAmongUnknowns measures a sweep of a few orphans that match nothing, among a million
// unknown outcomes.
func BenchmarkSweepAmongUnknowns(b *testing.B) {
	l := openTest(b, ledger.Options{Sender: true})
	r := ledgertest.Load(b, l, 1)
	if err := l.submit(b.Context(), &op{run: func(t *tx) error {
		_, err := t.exec(`WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 1000000)
			INSERT INTO attempt (rid, attempt, key, connection, intent_at, doubt_at)
			SELECT (? << 32) + i, 1, 2348030000000 + i, 'conn_1', 1, 1 FROM s`, int64(r.No))
		return err
	}}); err != nil {
		b.Fatal(err)
	}
	ledgertest.SweepStrangers(b, l)
}

// BenchmarkAdoptDoubts measures the adoption of 10,000 doubts.
func BenchmarkAdoptDoubts(b *testing.B) {
	ledgertest.AdoptDoubts(b, openTest(b, ledger.Options{Sender: true}))
}
