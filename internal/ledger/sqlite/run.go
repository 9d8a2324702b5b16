package sqlite

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
)

// sqlRuns is the head of every query whose rows ledger.ScanRun reads.
const sqlRuns = `SELECT r.no, r.campaign, r.list_hash, r.list_name, r.launch, r.parent, r.definition, r.header, r.delimiter,
	r.template, r.language, r.marketing, r.budget, c.taken, r.asset, r.asset_until, c.rows, r.state, r.reason, r.detail,
	r.wanted, r.limits, r.created_at, r.started_at, r.ended_at, r.retired_rows, r.retired_at, r.launched_by, r.leave_out
	FROM run r JOIN run_count c ON c.no = r.no `

const sqlRun = sqlRuns + `WHERE r.no = ?`

// run reads the run that the query finds; campaign.ErrNoRun when there is none.
func (t *tx) run(query string, a ...any) (campaign.Run, error) {
	var found []campaign.Run
	err := t.each(query, a, list(&found, ledger.ScanRun))
	return ledger.Only(found, err, campaign.ErrNoRun)
}

// setState writes a state and its notifications.
func (t *tx) setState(no campaign.RunNo, to campaign.State, reason campaign.PauseReason, detail string) error {
	return portable.SetState(portableTx{t}, &t.options, no, to, reason, detail)
}

const (
	sqlSentRuns = `SELECT no, wanted FROM run WHERE state IN ('ready', 'running')
		AND NOT EXISTS (SELECT 1 FROM segment WHERE segment.run = run.no AND done = 0) ORDER BY no`
	sqlAnySentRun = `SELECT EXISTS (` + sqlSentRuns + `)`

	// Parked segments that wait for the end of a doubt that has been proven since: every delivery has
	// an outcome. The count is last, because it reads the segment's outcomes.
	sqlProvenSegments = `SELECT s.id FROM run r CROSS JOIN segment s INDEXED BY segment_undone ON s.run = r.no
		WHERE r.state IN ('ready', 'running') AND s.done = 0 AND s.mark = s.hi AND s.lease_until = 0 AND s.wake_at > ?
		AND CASE WHEN EXISTS (SELECT 1 FROM outcome INDEXED BY outcome_open
				WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi AND state IN (1, 2, 3) /* open */) THEN 0
			ELSE (SELECT count(*) FROM outcome WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi) = s.hi - s.lo END`
	sqlEndProven = `UPDATE segment SET done = 1 WHERE id = ? AND lease_until = 0`
)

// FinishRuns implements campaign.RunLedger.
func (l *Ledger) FinishRuns(ctx context.Context) (ended []campaign.Run, err error) {
	if err := l.skipFailed(ctx); err != nil {
		return nil, err
	}
	var some bool // callers poll: a reader, not the writer, says that there is nothing to do
	var proven []int64
	if err := l.read().each(ctx, sqlProvenSegments, args(ledger.Millis(time.Now())), list(&proven, scanID)); err != nil {
		return nil, err
	}
	if err := l.read().row(ctx, sqlAnySentRun, nil, &some); err != nil || !some && len(proven) == 0 {
		return nil, err
	}
	err = l.write(ctx, results, func(t *tx) error {
		ended = nil
		for _, id := range proven {
			if _, err := t.exec(sqlEndProven, id); err != nil {
				return err
			}
		}
		var sent []ledger.SentRun
		if err := t.each(sqlSentRuns, nil, list(&sent, ledger.ScanSentRun)); err != nil {
			return err
		}
		for _, s := range sent {
			if err := t.setState(s.No, s.End(), "", ""); err != nil {
				return err
			}
			r, err := t.run(sqlRun, int64(s.No))
			if err != nil {
				return err
			}
			ended = append(ended, r)
		}
		return nil
	})
	return ended, err
}
