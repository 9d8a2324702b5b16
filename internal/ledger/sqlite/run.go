package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// sqlRuns is the head of every query whose rows ledger.ScanRun reads.
const sqlRuns = `SELECT r.no, r.campaign, r.list_hash, r.list_name, r.launch, r.parent, r.definition, r.header, r.delimiter,
	r.template, r.language, r.marketing, r.budget, c.taken, r.asset, r.asset_until, c.rows, r.state, r.reason, r.detail,
	r.wanted, r.limits, r.created_at, r.started_at, r.ended_at, r.retired_rows, r.retired_at, r.launched_by
	FROM run r JOIN run_count c ON c.no = r.no `

const (
	sqlRun       = sqlRuns + `WHERE r.no = ?`
	sqlFiringRun = sqlRuns + `WHERE r.campaign = ? AND substr(r.launch, 1, 5) = 'cron ' AND r.launch = ?`
	sqlLaunchRun = sqlRuns + `WHERE r.campaign = ? AND r.list_hash = ? AND r.launch = ?`
	sqlInsertRun = `INSERT INTO run (state, wanted, marketing, budget, template, language, created_at, parent, campaign, list_hash,
		launch, list_name, asset, asset_until, header, delimiter, definition, launched_by)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING no`
	sqlInsertRunCount = `INSERT INTO run_count (no) VALUES (?)`
)

// CreateRun implements campaign.RunLedger.
func (l *Ledger) CreateRun(ctx context.Context, r campaign.Run) (out campaign.Run, err error) {
	header, err := json.Marshal(ledger.NonNil(r.Header))
	if err != nil {
		return out, fmt.Errorf("run header: %w", err)
	}
	r, fired := ledger.NewRun(r)
	err = l.write(ctx, results, func(t *tx) error {
		var err error
		if fired {
			out, err = t.run(sqlFiringRun, r.Campaign, r.Launch)
		} else {
			out, err = t.run(sqlLaunchRun, r.Campaign, r.ListHash, r.Launch)
		}
		if err == nil {
			return campaign.ErrRunExists
		}
		if !errors.Is(err, campaign.ErrNoRun) {
			return err
		}
		var no int64
		if err := t.row(sqlInsertRun, args(string(campaign.Importing), string(r.Wanted), r.Marketing, r.Budget,
			r.Template, r.Language, ledger.Millis(time.Now()), int64(r.Parent), r.Campaign, r.ListHash, r.Launch, r.ListName,
			r.Asset, ledger.Millis(r.AssetUntil), string(header), r.Delimiter, ledger.NonNil(r.Definition), r.LaunchedBy), &no); err != nil {
			return err
		}
		if _, err := t.exec(sqlInsertRunCount, no); err != nil {
			return err
		}
		out, err = t.run(sqlRun, no)
		return err
	})
	return out, err
}

// run reads the run that the query finds; campaign.ErrNoRun when there is none.
func (t *tx) run(query string, a ...any) (campaign.Run, error) {
	var found []campaign.Run
	err := t.each(query, a, list(&found, ledger.ScanRun))
	return ledger.Only(found, err, campaign.ErrNoRun)
}

// run reads a run; campaign.ErrNoRun when there is none.
func (r reader) run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	var found []campaign.Run
	err := r.each(ctx, sqlRun, args(int64(no)), list(&found, ledger.ScanRun))
	return ledger.Only(found, err, campaign.ErrNoRun)
}

// Run implements campaign.RunLedger.
func (l *Ledger) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	return l.read().run(ctx, no)
}

// Runs implements campaign.RunLedger.
func (l *Ledger) Runs(ctx context.Context, f campaign.RunFilter) (all []campaign.Run, err error) {
	clause, args := ledger.RunClause(f)
	err = l.read().each(ctx, translated(sqlRuns+clause), args, list(&all, ledger.ScanRun))
	return all, err
}

const sqlSetWanted = `UPDATE run SET wanted = ? WHERE no = ?`

// SetWanted implements campaign.RunLedger.
func (l *Ledger) SetWanted(ctx context.Context, no campaign.RunNo, w campaign.Wanted) (out campaign.Run, err error) {
	if err := ledger.CheckWanted(w); err != nil {
		return out, err
	}
	err = l.write(ctx, results, func(t *tx) error {
		r, err := t.run(sqlRun, int64(no))
		if out = r; err != nil {
			return err
		}
		write, ready, err := ledger.Want(&r, w)
		if err != nil || !write {
			return err
		}
		if _, err := t.exec(sqlSetWanted, string(w), int64(no)); err != nil {
			return err
		}
		if ready {
			if err := t.setState(no, campaign.Ready, "", ""); err != nil {
				return err
			}
		}
		out, err = t.run(sqlRun, int64(no))
		return err
	})
	return out, err
}

const sqlSetLimits = `UPDATE run SET limits = ? WHERE no = ?`

// SetLimits implements campaign.RunLedger.
func (l *Ledger) SetLimits(ctx context.Context, no campaign.RunNo, c campaign.LimitChange) (out campaign.Run, err error) {
	err = l.write(ctx, results, func(t *tx) error {
		r, err := t.run(sqlRun, int64(no))
		if out = r; err != nil || r.State.Ended() {
			return err
		}
		limits, err := ledger.Limits(r.Changed, c)
		if err != nil {
			return err
		}
		if _, err := t.exec(sqlSetLimits, limits, int64(no)); err != nil {
			return err
		}
		out, err = t.run(sqlRun, int64(no))
		return err
	})
	return out, err
}

const sqlSetState = `UPDATE run SET state = ?1, reason = ?2, detail = ?3,
	started_at = CASE WHEN started_at = 0 THEN ?4 ELSE started_at END, ended_at = ?5 WHERE no = ?6`

// setState writes a state and the times that go with it.
func (t *tx) setState(no campaign.RunNo, to campaign.State, reason campaign.PauseReason, detail string) error {
	now := time.Now()
	if err := t.notifyState(no, to, reason, detail, now); err != nil {
		return err
	}
	started, ended := ledger.StateTimes(to, now)
	_, err := t.exec(sqlSetState, string(to), string(reason), detail, started, ended, int64(no))
	return err
}

const sqlState = `SELECT state, wanted FROM run WHERE no = ?`

// SetState implements campaign.RunLedger.
func (l *Ledger) SetState(ctx context.Context, no campaign.RunNo, from []campaign.State, to campaign.State,
	reason campaign.PauseReason, detail string) (changed bool, err error) {
	err = l.write(ctx, results, func(t *tx) error {
		var state campaign.State
		var wanted campaign.Wanted
		if err := t.row(sqlState, args(int64(no)), &state, &wanted); errors.Is(err, sql.ErrNoRows) {
			return campaign.ErrNoRun
		} else if err != nil {
			return err
		}
		if changed = ledger.MayMove(state, wanted, from, to, reason); !changed {
			return nil
		}
		return t.setState(no, to, reason, detail)
	})
	if changed && err == nil && to == campaign.RunStateFailed {
		_ = l.skipFailed(ctx) // the run has failed; FinishRuns skips what is left
	}
	return changed && err == nil, err
}

const sqlReleaseCanary = `UPDATE segment SET wake_at = 0 WHERE run = ? AND done = 0 AND wake_at = 253402214400000 /* after the canary */`

// ReleaseCanary implements campaign.RunLedger.
func (l *Ledger) ReleaseCanary(ctx context.Context, no campaign.RunNo) error {
	return l.write(ctx, results, func(t *tx) error {
		_, err := t.exec(sqlReleaseCanary, int64(no))
		return err
	})
}

const (
	sqlSetAsset = `INSERT INTO asset (run, connection, asset, until, file, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
		ON CONFLICT (run, connection) DO UPDATE SET asset = ?3, until = ?4, file = ?5, hash = ?6`
	sqlAssetOfRun = `UPDATE run SET asset = coalesce((SELECT asset FROM asset WHERE run = no ORDER BY connection LIMIT 1), ''),
		asset_until = coalesce((SELECT min(until) FROM asset WHERE run = no), 0) WHERE no = ?`
	sqlAssets = `SELECT connection, asset, until, file, hash FROM asset WHERE run = ? ORDER BY connection`
)

// SetAssets implements campaign.RunLedger.
func (l *Ledger) SetAssets(ctx context.Context, no campaign.RunNo, assets []campaign.Asset) error {
	return l.write(ctx, results, func(t *tx) error {
		for _, a := range assets {
			if _, err := t.exec(sqlSetAsset, int64(no), a.Connection, a.ID, ledger.Millis(a.Until), a.File, a.SHA256); err != nil {
				return err
			}
		}
		n, err := t.exec(sqlAssetOfRun, int64(no))
		if err == nil && n == 0 {
			err = campaign.ErrNoRun
		}
		return err
	})
}

// Assets implements campaign.RunLedger.
func (l *Ledger) Assets(ctx context.Context, no campaign.RunNo) (all []campaign.Asset, err error) {
	err = l.read().each(ctx, sqlAssets, args(int64(no)), list(&all, ledger.ScanAsset))
	return all, err
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
