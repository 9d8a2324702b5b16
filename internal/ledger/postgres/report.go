package postgres

import (
	"context"
	"iter"
	"math"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/ledger"
	"campaignd/internal/sentence"
)

const sqlLines = `WITH d AS MATERIALIZED (SELECT rid, key, row, dest, cells FROM delivery
		WHERE rid >> 32 = $1 AND row > $2 ORDER BY row LIMIT $3)` + lineOf + ` ORDER BY d.row`

// Lines implements campaign.ReportLedger.
func (l *Ledger) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return ledger.Pages(ledger.LinePage, func(last *campaign.Line) (page []campaign.Line, err error) {
		after := int64(math.MinInt64)
		if last != nil {
			after = last.Row
		} else if _, err := l.Run(ctx, no); err != nil {
			return nil, err
		}
		err = l.read(ctx, l.reports, list(&page, ledger.ScanLine, sqlLines, int64(no), after, ledger.LinePage))
		return page, err
	})
}

const (
	// sqlAlive writes nothing on a server that the ledger does not know, so it needs nobody who has
	// noticed the promotion.
	sqlAlive = `UPDATE ledger SET alive_at = ledger_now() WHERE one = 1 AND alive_at < ledger_now() - $1::bigint
		AND (system, timeline) = (` + sqlServer + `)`
	sqlDeleteLanes = `DELETE FROM lane WHERE owner = $1 OR told_at < ledger_now() - $2::bigint`
	// The column binding is LaneReport.LimitedBy.
	sqlInsertLanes = `INSERT INTO lane (owner, run, connection, binding, detail, rate, wants, at, until, told_at)
		SELECT $1, w.*, ledger_now()
		FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::boolean[], $8::bigint[], $9::bigint[]) w
		ON CONFLICT (owner, run, connection) DO UPDATE SET binding = excluded.binding, detail = excluded.detail,
			rate = excluded.rate, wants = excluded.wants, at = excluded.at, until = excluded.until, told_at = excluded.told_at`
)

// ReportLanes implements campaign.SendLedger.
func (l *Ledger) ReportLanes(ctx context.Context, owner string, lanes []campaign.LaneReport) error {
	type lane struct {
		run        campaign.RunNo
		connection string
	}
	var runs, ats, untils []int64
	var connections, limits, details []string
	var rates []float64
	var wants []bool
	seen := map[lane]bool{}
	for i := len(lanes) - 1; i >= 0; i-- { // the last report of a lane stays
		r := lanes[i]
		if k := (lane{r.Run, ledger.PlainText(r.Connection)}); !seen[k] {
			seen[k] = true
			runs, ats, rates = append(runs, int64(r.Run)), append(ats, ledger.Millis(r.At)), append(rates, r.Rate)
			untils = append(untils, ledger.Millis(r.Until))
			connections, limits = append(connections, k.connection), append(limits, ledger.PlainText(string(r.LimitedBy)))
			wants = append(wants, r.Wants)
			details = append(details, ledger.PlainText(sentence.Clip(r.Detail, ledger.MaxSentence)))
		}
	}
	owner = ledger.PlainText(owner)
	return l.change(ctx, l.sender, "", func(t *tx) error {
		t.last(stmt(nil, sqlDeleteLanes, owner, campaign.LaneMissed.Milliseconds()),
			stmt(nil, sqlInsertLanes, owner, runs, connections, limits, details, rates, wants, ats, untils),
			stmt(nil, sqlAlive, reception.ListenEvery.Milliseconds()))
		return nil
	})
}

const sqlLiveLanes = `SELECT run, connection, owner, binding, detail, rate, wants, at, until FROM lane
	WHERE told_at > ledger_now() - $1::bigint AND owner <> $2 ORDER BY connection, owner, run`

// LiveLanes implements campaign.SendLedger.
func (l *Ledger) LiveLanes(ctx context.Context, d time.Duration, but string) (all []campaign.LaneReport, err error) {
	err = l.read(ctx, l.sender, list(&all, ledger.ScanLane, sqlLiveLanes, d.Milliseconds(), but))
	return all, err
}

const sqlBacklog = `SELECT zone, sum(hi - mark)::bigint FROM segment WHERE run = $1 AND NOT done GROUP BY zone`

// Backlog implements campaign.SendLedger.
func (l *Ledger) Backlog(ctx context.Context, no campaign.RunNo) (map[string]int64, error) {
	type group struct {
		zone string
		n    int64
	}
	var groups []group
	err := l.read(ctx, l.sender, list(&groups, func(scan scanFunc) (g group, err error) {
		return g, scan(&g.zone, &g.n)
	}, sqlBacklog, int64(no)))
	all := map[string]int64{}
	for _, g := range groups {
		all[g.zone] = g.n
	}
	return all, err
}
