package postgres

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"

	"github.com/jackc/pgx/v5"
)

// sqlRuns is the head of every query whose rows ledger.ScanRun reads. Without a budget each segment
// counts what it was granted: replicas would wait for each other at a counter in one row.
const sqlRuns = `SELECT r.no, r.campaign, r.list_hash, r.list_name, r.launch, r.parent, r.definition, r.header, r.delimiter,
	r.template, r.language, r.marketing, r.budget,
	CASE WHEN r.budget > 0 THEN c.taken
		ELSE (SELECT coalesce(sum(s.taken), 0)::bigint FROM segment s WHERE s.id >= r.no << 32 AND s.id < (r.no + 1) << 32) END,
	r.asset, r.asset_until, c.rows, r.state, r.reason, r.detail,
	r.wanted, r.limits, r.created_at, r.started_at, r.ended_at, r.retired_rows, r.retired_at, r.launched_by, r.leave_out
	FROM run r JOIN run_count c ON c.no = r.no `

const sqlRunsOf = sqlRuns + `WHERE r.no = ANY($1) ORDER BY r.no`

const sqlLockState = `SELECT state, wanted FROM run WHERE no = $1 FOR NO KEY UPDATE`

// lockRun reads the state of a run and what its operator wants, and keeps others from changing them
// until the transaction ends; campaign.ErrNoRun when there is no such run.
func (t *tx) lockRun(no campaign.RunNo) (state campaign.State, wanted campaign.Wanted, err error) {
	err = t.do(rowOf([]any{&state, &wanted}, sqlLockState, int64(no)))
	if errors.Is(err, pgx.ErrNoRows) {
		err = campaign.ErrNoRun
	}
	return state, wanted, err
}

const (
	// The instant tells a first start from a later one; a start in the same millisecond is the same.
	sqlStartRuns = `WITH moved AS (UPDATE run SET state = 'running', reason = '', detail = '',
			started_at = CASE WHEN started_at = 0 THEN $2 ELSE started_at END WHERE no = ANY($1) AND state = 'ready'
			RETURNING no, campaign, started_at)
		INSERT INTO notification (destination, kind, run, campaign, subject, reason, detail, at, state, since, next_at)
		SELECT d, 'run.started', no, campaign, '', '', '', $2, 'pending', $2, $2 FROM moved CROSS JOIN unnest($3::text[]) d
		WHERE started_at = $2`
)

// setState writes a state and the times that go with it.
func setState(no campaign.RunNo, to campaign.State, reason campaign.PauseReason, detail string) *query {
	sql, args := portable.State(no, to, reason, detail, time.Now())
	return stmt(nil, sql, storable(args)...)
}

// startRun makes runs Running that are still Ready.
func (t *tx) startRun(nos ...int64) *query {
	return stmt(nil, sqlStartRuns, nos, ledger.Millis(time.Now()), t.startDestinations())
}

const (
	sqlAnySentRun = `SELECT EXISTS (SELECT 1` + sqlFromSent + `)`
	sqlSentRuns   = `SELECT no, wanted` + sqlFromSent + ` ORDER BY no FOR NO KEY UPDATE SKIP LOCKED`

	sqlFromSent = ` FROM run WHERE state IN ('ready', 'running')
		AND NOT EXISTS (SELECT 1 FROM segment WHERE segment.run = run.no AND NOT done)`

	// Parked segments that wait for the end of a doubt that has been proven since: every delivery has
	// an outcome. The count is last, because it reads the segment's outcomes.
	sqlProvenSegments = `SELECT s.id FROM run r CROSS JOIN LATERAL (
			SELECT id, (run << 32) + lo AS first, (run << 32) + hi AS last FROM segment
			WHERE run = r.no AND NOT done AND mark = hi AND lease_until = 0 AND wake_at > ledger_now() OFFSET 0) s
		WHERE r.state IN ('ready', 'running') AND CASE
			WHEN (SELECT true FROM outcome WHERE rid >= s.first AND rid < s.last AND state IN (1, 2, 3) /* open */ LIMIT 1) THEN false
			ELSE (SELECT count(*) FROM outcome WHERE rid >= s.first AND rid < s.last) = s.last - s.first END
		ORDER BY s.id`
	sqlEndProven = `UPDATE segment SET done = true WHERE id = ANY($1) AND lease_until = 0`
)

// FinishRuns implements campaign.RunLedger. Each run is ended by one replica.
func (l *Ledger) FinishRuns(ctx context.Context) (ended []campaign.Run, err error) {
	if err := l.skipFailed(ctx); err != nil {
		return nil, err
	}
	var some bool // callers poll: queries outside a transaction say that there is nothing to do
	var proven []int64
	if err := l.read(ctx, l.sender, row(&some, sqlAnySentRun), list(&proven, scanID, sqlProvenSegments)); err != nil ||
		!some && len(proven) == 0 {
		return nil, err
	}
	if err := l.change(ctx, l.sender, "", func(t *tx) error {
		ended = nil
		var sent []ledger.SentRun
		if err := t.do(stmt(nil, sqlEndProven, proven), list(&sent, ledger.ScanSentRun, sqlSentRuns)); err != nil || len(sent) == 0 {
			return err
		}
		var nos []int64
		var qs []*query
		for _, r := range sent {
			nos, qs = append(nos, int64(r.No)), append(qs, setState(r.No, r.End(), "", ""))
		}
		if err := t.do(append(qs, list(&ended, ledger.ScanRun, sqlRunsOf, nos))...); err != nil {
			return err
		}
		for _, r := range ended {
			t.last(notify(t.options.NotifyState(r.No, r.State, "", "", false, time.Now()))...)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for _, id := range proven {
		l.marks.forget(id)
	}
	return ended, nil
}
