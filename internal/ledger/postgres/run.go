package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	"github.com/jackc/pgx/v5"
)

// sqlRuns is the head of every query whose rows ledger.ScanRun reads. Without a budget each segment
// counts what it was granted: replicas would wait for each other at a counter in one row.
const sqlRuns = `SELECT r.no, r.campaign, r.list_hash, r.list_name, r.launch, r.parent, r.definition, r.header, r.delimiter,
	r.template, r.language, r.marketing, r.budget,
	CASE WHEN r.budget > 0 THEN c.taken
		ELSE (SELECT coalesce(sum(s.taken), 0)::bigint FROM segment s WHERE s.id >= r.no << 32 AND s.id < (r.no + 1) << 32) END,
	r.asset, r.asset_until, c.rows, r.state, r.reason, r.detail,
	r.wanted, r.limits, r.created_at, r.started_at, r.ended_at, r.retired_rows, r.retired_at, r.launched_by
	FROM run r JOIN run_count c ON c.no = r.no `

const (
	sqlRun       = sqlRuns + `WHERE r.no = $1`
	sqlFiringRun = sqlRuns + `WHERE r.campaign = $1 AND substr(r.launch, 1, 5) = 'cron ' AND r.launch = $2`
	sqlLaunchRun = sqlRuns + `WHERE r.campaign = $1 AND r.list_hash = $2 AND r.launch = $3`
	sqlRunsOf    = sqlRuns + `WHERE r.no = ANY($1) ORDER BY r.no`
	sqlInsertRun = `INSERT INTO run (state, wanted, marketing, budget, template, language, created_at, parent, campaign, list_hash,
			launch, list_name, asset, asset_until, header, delimiter, definition, launched_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) ON CONFLICT DO NOTHING RETURNING no`
	sqlInsertRunCount = `INSERT INTO run_count (no) VALUES ($1)`
	sqlInsertRunEvent = `INSERT INTO run_event (no) VALUES ($1)`
)

// run reads the run that the query finds; campaign.ErrNoRun when there is none.
func (t *tx) run(query string, a ...any) (campaign.Run, error) {
	var found []campaign.Run
	err := t.do(list(&found, ledger.ScanRun, query, a...))
	return ledger.Only(found, err, campaign.ErrNoRun)
}

// CreateRun implements campaign.RunLedger.
func (l *Ledger) CreateRun(ctx context.Context, r campaign.Run) (out campaign.Run, err error) {
	header, err := json.Marshal(ledger.NonNil(r.Header))
	if err != nil {
		return out, fmt.Errorf("run header: %w", err)
	}
	r, fired := ledger.NewRun(r)
	existing, key := sqlLaunchRun, []any{plainText(r.Campaign), plainText(r.ListHash), plainText(r.Launch)}
	if fired {
		existing, key = sqlFiringRun, []any{key[0], key[2]}
	}
	created := ledger.Millis(time.Now())
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		var err error
		if out, err = t.run(existing, key...); err == nil {
			if t.again && ledger.Millis(out.CreatedAt) == created {
				return nil // an earlier try created it
			}
			return campaign.ErrRunExists
		}
		if !errors.Is(err, campaign.ErrNoRun) {
			return err
		}
		var no int64
		switch err := t.do(row(&no, sqlInsertRun, string(campaign.Importing), string(r.Wanted), r.Marketing, r.Budget,
			plainText(r.Template), plainText(r.Language), created, int64(r.Parent), plainText(r.Campaign), plainText(r.ListHash),
			plainText(r.Launch), plainText(r.ListName), plainText(r.Asset), ledger.Millis(r.AssetUntil),
			string(header), r.Delimiter, ledger.NonNil(r.Definition), plainText(r.LaunchedBy))); {
		case errors.Is(err, pgx.ErrNoRows): // another replica created it after the look above, and has committed
			if out, err = t.run(existing, key...); err == nil {
				err = campaign.ErrRunExists
			}
			return err
		case err != nil:
			return err
		}
		if err := t.do(stmt(nil, sqlInsertRunCount, no), stmt(nil, sqlInsertRunEvent, no)); err != nil {
			return err
		}
		out, err = t.run(sqlRun, no)
		return err
	})
	return out, err
}

// Run implements campaign.RunLedger.
func (l *Ledger) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	var found []campaign.Run
	err := l.read(ctx, l.sender, list(&found, ledger.ScanRun, sqlRun, int64(no)))
	return ledger.Only(found, err, campaign.ErrNoRun)
}

// Runs implements campaign.RunLedger.
func (l *Ledger) Runs(ctx context.Context, f campaign.RunFilter) (all []campaign.Run, err error) {
	f.Campaign, f.ListHash, f.Launch = plainText(f.Campaign), plainText(f.ListHash), plainText(f.Launch)
	clause, args := ledger.RunClause(f)
	err = l.read(ctx, l.sender, list(&all, ledger.ScanRun, sqlRuns+clause, args...))
	return all, err
}

const sqlSetLimits = `UPDATE run SET limits = $1 WHERE no = $2`

// SetLimits implements campaign.RunLedger.
func (l *Ledger) SetLimits(ctx context.Context, no campaign.RunNo, c campaign.LimitChange) (out campaign.Run, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		r, err := t.lockedRun(no)
		if out = r; err != nil || r.State.Ended() {
			return err
		}
		limits, err := ledger.Limits(r.Changed, c)
		if err != nil {
			return err
		}
		if err := t.do(stmt(nil, sqlSetLimits, limits, int64(no))); err != nil {
			return err
		}
		out, err = t.run(sqlRun, int64(no))
		return err
	})
	return out, err
}

const sqlSetWanted = `UPDATE run SET wanted = $1 WHERE no = $2`

// SetWanted implements campaign.RunLedger.
func (l *Ledger) SetWanted(ctx context.Context, no campaign.RunNo, w campaign.Wanted) (out campaign.Run, err error) {
	if err := ledger.CheckWanted(w); err != nil {
		return out, err
	}
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		r, err := t.lockedRun(no)
		if out = r; err != nil {
			return err
		}
		write, ready, err := ledger.Want(&r, w)
		if err != nil || !write {
			return err
		}
		qs := []*query{stmt(nil, sqlSetWanted, string(w), int64(no))}
		if ready {
			qs = append(qs, setState(no, campaign.Ready, "", ""))
		}
		if err := t.do(qs...); err != nil {
			return err
		}
		out, err = t.run(sqlRun, int64(no))
		return err
	})
	return out, err
}

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

// lockedRun is lockRun that reads the whole run.
func (t *tx) lockedRun(no campaign.RunNo) (campaign.Run, error) {
	if _, _, err := t.lockRun(no); err != nil {
		return campaign.Run{}, err
	}
	return t.run(sqlRun, int64(no))
}

const (
	sqlSetState = `UPDATE run SET state = $1, reason = $2, detail = $3,
		started_at = CASE WHEN started_at = 0 THEN $4 ELSE started_at END, ended_at = $5 WHERE no = $6`
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
	started, ended := ledger.StateTimes(to, time.Now())
	return stmt(nil, sqlSetState, string(to), string(reason), plainText(detail), started, ended, int64(no))
}

// startRun makes runs Running that are still Ready.
func (t *tx) startRun(nos ...int64) *query {
	return stmt(nil, sqlStartRuns, nos, ledger.Millis(time.Now()), t.startDestinations())
}

// SetState implements campaign.RunLedger.
func (l *Ledger) SetState(ctx context.Context, no campaign.RunNo, from []campaign.State, to campaign.State,
	reason campaign.PauseReason, detail string) (changed bool, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		changed = false
		state, wanted, err := t.lockRun(no)
		if err != nil {
			return err
		}
		if ledger.MayMove(state, wanted, from, to, reason) {
			changed = true
			return t.do(append(notify(t.options.NotifyState(no, to, reason, detail, false, time.Now())),
				setState(no, to, reason, detail))...)
		}
		changed = t.again && state == to // an earlier try of this call may have changed it
		return nil
	})
	if changed && err == nil && to == campaign.RunStateFailed {
		_ = l.skipFailed(ctx) // the run has failed; FinishRuns skips what is left
	}
	return changed && err == nil, err
}

const sqlReleaseCanary = `UPDATE segment SET wake_at = 0 WHERE run = $1 AND NOT done AND wake_at = 253402214400000 /* after the canary */`

// ReleaseCanary implements campaign.RunLedger. Nobody else locks more than one of these segments,
// and a claim of a cancelled run passes over those that are locked.
func (l *Ledger) ReleaseCanary(ctx context.Context, no campaign.RunNo) error {
	return l.change(ctx, l.sender, "", func(t *tx) error {
		return t.do(stmt(nil, sqlReleaseCanary, int64(no)))
	})
}

const (
	sqlSetAsset = `INSERT INTO asset (run, connection, asset, until, file, hash) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (run, connection) DO UPDATE SET asset = excluded.asset, until = excluded.until, file = excluded.file, hash = excluded.hash`
	sqlAssetOfRun = `UPDATE run SET asset = coalesce((SELECT a.asset FROM asset a WHERE a.run = no ORDER BY a.connection LIMIT 1), ''),
		asset_until = coalesce((SELECT min(a.until) FROM asset a WHERE a.run = no), 0) WHERE no = $1`
	sqlAssets = `SELECT connection, asset, until, file, hash FROM asset WHERE run = $1 ORDER BY connection`
)

// SetAssets implements campaign.RunLedger.
func (l *Ledger) SetAssets(ctx context.Context, no campaign.RunNo, assets []campaign.Asset) error {
	return l.change(ctx, l.sender, "", func(t *tx) error {
		if _, _, err := t.lockRun(no); err != nil {
			return err
		}
		var qs []*query
		for _, a := range assets {
			qs = append(qs, stmt(nil, sqlSetAsset, int64(no), plainText(a.Connection), plainText(a.ID), ledger.Millis(a.Until),
				plainText(a.File), a.SHA256))
		}
		return t.do(append(qs, stmt(nil, sqlAssetOfRun, int64(no)))...)
	})
}

// Assets implements campaign.RunLedger.
func (l *Ledger) Assets(ctx context.Context, no campaign.RunNo) (all []campaign.Asset, err error) {
	err = l.read(ctx, l.sender, list(&all, ledger.ScanAsset, sqlAssets, int64(no)))
	return all, err
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
