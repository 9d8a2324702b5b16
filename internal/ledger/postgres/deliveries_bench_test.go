//go:build unix

package postgres

import (
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/operator"
)

// pageRows is how many rows the run has whose deliveries BenchmarkPagesOfDeliveries reads.
var pageRows = flag.Int64("pagerows", 100_000, "rows of BenchmarkPagesOfDeliveries")

// A run at its end: of a hundred rows 90 are read, 5 delivered, 2 failed, 2 skipped and 1 refused,
// and a handful in all was accepted only. The last segment is not sent yet.
const (
	sqlFillDeliveries = `INSERT INTO delivery (rid, key, row, dest, cells)
		SELECT ($1::bigint << 32) | g, 2348000000000 + g, g + 2, '+' || (2348000000000 + g), '["x"]'
		FROM generate_series($2::bigint, $3::bigint - 1) g`
	sqlFillOutcomes = `INSERT INTO outcome (rid, mh, result_at, attempt, state, rank, message_id, sent_at, delivered_at, read_at,
			failed_at, fail_code, code)
		SELECT ($1::bigint << 32) | g, g, 1767225600000 + g, 1,
			CASE g % 100 WHEN 97 THEN 7 WHEN 98 THEN 7 WHEN 99 THEN 6 ELSE 5 END,
			CASE WHEN g % 200003 = 0 THEN 0 WHEN g % 100 < 90 THEN 4 WHEN g % 100 < 95 THEN 3 WHEN g % 100 < 97 THEN 2 ELSE 0 END,
			CASE WHEN g % 100 < 97 THEN 'wamid.' || g END, 1767225600000 + g,
			CASE WHEN g % 100 < 95 THEN 1767225600000 + g + 900 END, CASE WHEN g % 100 < 90 THEN 1767225600000 + g + 5000 END,
			CASE WHEN g % 100 IN (95, 96) THEN 1767225600000 + g END,
			CASE WHEN g % 100 IN (95, 96) THEN CASE WHEN g % 50000 = 95 THEN '131042' ELSE '131049' END END,
			CASE WHEN g % 100 IN (97, 98) THEN 'suppressed' WHEN g % 100 = 99 THEN 'send_recipient_permanent' END
		FROM generate_series($2::bigint, $3::bigint - 1) g`
	sqlFillSegments = `INSERT INTO segment (id, run, lo, hi, mark, done, closed, connection, zone)
		SELECT ($1::bigint << 32) | (lo / 4096), $1, lo, least(lo + 4096, $2::bigint), CASE WHEN lo + 4096 < $2 THEN lo + 4096 ELSE lo END,
			lo + 4096 < $2, true, 'conn_1', '' FROM generate_series(0, $2::bigint - 1, 4096) lo`
	sqlFillCount = `UPDATE run_count SET rows = $2 WHERE no = $1`
)

// pages fills a ledger, and returns the desk over it and the run.
func pages(b *testing.B, rows int64) (*operator.Session, campaign.Run) {
	b.Helper()
	l := openShared(b, ledger.Options{Sender: true})
	r := ledgertest.Load(b, l, 1)
	const chunk = 50_000
	sent := (rows - 1) / campaign.SegmentSize * campaign.SegmentSize
	for at := int64(0); at < rows; at += chunk {
		to := min(at+chunk, rows)
		if err := l.change(b.Context(), l.sender, "", func(t *tx) error {
			all := []*query{}
			if at == 0 {
				all = append(all, stmt(nil, `DELETE FROM delivery`), stmt(nil, `DELETE FROM segment`), stmt(nil, `DELETE FROM outcome`))
			}
			return t.do(append(all,
				stmt(nil, sqlFillDeliveries, int64(r.No), at, to), stmt(nil, sqlFillOutcomes, int64(r.No), at, min(to, sent)))...)
		}); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.change(b.Context(), l.sender, "", func(t *tx) error {
		return t.do(stmt(nil, sqlFillSegments, int64(r.No), rows), stmt(nil, sqlFillCount, int64(r.No), rows))
	}); err != nil {
		b.Fatal(err)
	}
	for _, sql := range []string{"VACUUM ANALYZE delivery", "VACUUM ANALYZE outcome", "VACUUM ANALYZE segment"} { // as autovacuum does
		if err := l.read(b.Context(), l.reports, stmt(nil, sql)); err != nil {
			b.Fatal(err)
		}
	}
	return &operator.Session{Ledger: l, Origins: func(context.Context, []campaign.Hold) func(string) campaign.Origin {
		return func(string) campaign.Origin { return campaign.Origin{} }
	}}, r
}

// BenchmarkPagesOfDeliveries prints the median time of a page with each filter, from the first page
// on and from the middle of the run, and how many rows a page had on average.
func BenchmarkPagesOfDeliveries(b *testing.B) {
	desk, r := pages(b, *pageRows)
	at := func(row int64) time.Time { return time.UnixMilli(1767225600000 + row).UTC() }
	middle := *pageRows / 2
	for _, tt := range []struct {
		name   string
		filter resource.DeliveryFilter
	}{
		{"all", resource.DeliveryFilter{}},
		{"read", resource.DeliveryFilter{Status: campaign.Read}},
		{"failed", resource.DeliveryFilter{Status: campaign.Failed}},
		{"refused", resource.DeliveryFilter{Status: campaign.Refused}},
		{"accepted", resource.DeliveryFilter{Status: campaign.Accepted}},
		{"queued", resource.DeliveryFilter{Status: campaign.Queued}},
		{"reason", resource.DeliveryFilter{Reason: "suppressed"}},
		{"code", resource.DeliveryFilter{Code: "131042"}},
		{"no-such-code", resource.DeliveryFilter{Code: "1"}},
		{"number", resource.DeliveryFilter{To: "+2348000000777"}},
		{"window", resource.DeliveryFilter{Since: at(middle), Before: at(middle + 60_000)}},
	} {
		for _, from := range []struct {
			name  string
			after int64
		}{{"first", 0}, {"middle", middle}} {
			b.Run(tt.name+"/"+from.name, func(b *testing.B) {
				f := tt.filter
				f.After = from.after
				var took []time.Duration
				var found int
				for b.Loop() {
					begun := time.Now()
					page, err := desk.Deliveries(b.Context(), r.ID(), f)
					if err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(begun))
					found += len(page.Deliveries)
					if f.After = page.Next; f.After == 0 {
						f.After = from.after
					}
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2])/1e6, "ms-median")
				b.ReportMetric(float64(found)/float64(len(took)), "rows/page")
			})
		}
	}
}
