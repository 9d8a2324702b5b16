package portable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlThisRun   = `WHERE r.no = $1`
	sqlFiringRun = `WHERE r.campaign = $1 AND substr(r.launch, 1, 5) = 'cron ' AND r.launch = $2`
	sqlLaunchRun = `WHERE r.campaign = $1 AND r.list_hash = $2 AND r.launch = $3`
	sqlInsertRun = `INSERT INTO run (state, wanted, marketing, budget, template, language, created_at, parent, campaign, list_hash,
			launch, list_name, asset, asset_until, header, delimiter, definition, launched_by, leave_out)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) ON CONFLICT DO NOTHING RETURNING no`
	sqlLaunchDraft = `UPDATE draft SET run = $1 WHERE id = $2 AND run = ''`
)

// CreateRun implements campaign.RunLedger.
func (l *Ledger) CreateRun(ctx context.Context, r campaign.Run) (out campaign.Run, err error) {
	header, err := json.Marshal(ledger.NonNil(r.Header))
	if err != nil {
		return out, fmt.Errorf("run header: %w", err)
	}
	r, fired := ledger.NewRun(r)
	existing, key := sqlLaunchRun, []any{r.Campaign, r.ListHash, r.Launch}
	if fired {
		existing, key = sqlFiringRun, []any{r.Campaign, r.Launch}
	}
	created := ledger.Millis(time.Now())
	err = l.db.Change(ctx, Sending, func(t Tx) error {
		var err error
		if out, err = l.run(t.Each, existing, key...); err == nil {
			if t.Again() && ledger.Millis(out.CreatedAt) == created {
				return nil // an earlier try created it
			}
			return campaign.ErrRunExists
		}
		if !errors.Is(err, campaign.ErrNoRun) {
			return err
		}
		var no int64
		isNew, err := one(t.Each, []any{&no}, sqlInsertRun, string(campaign.Importing), string(r.Wanted), r.Marketing, r.Budget,
			r.Template, r.Language, created, int64(r.Parent), r.Campaign, r.ListHash, r.Launch, r.ListName, r.Asset,
			ledger.Millis(r.AssetUntil), string(header), r.Delimiter, ledger.NonNil(r.Definition), r.LaunchedBy, r.LeaveOut)
		if err != nil {
			return err
		}
		if !isNew { // another replica created it after the look above, and has committed
			if out, err = l.run(t.Each, existing, key...); err == nil {
				err = campaign.ErrRunExists
			}
			return err
		}
		for _, count := range l.own.NewRun {
			if _, err := t.Exec(count, no); err != nil {
				return err
			}
		}
		if out, err = l.run(t.Each, sqlThisRun, no); err != nil || r.Draft == "" {
			return err
		}
		_, err = t.Exec(sqlLaunchDraft, out.ID(), r.Draft)
		return err
	})
	return out, err
}

// run reads the run that the condition finds; campaign.ErrNoRun when there is none.
func (l *Ledger) run(each Each, condition string, args ...any) (campaign.Run, error) {
	var found []campaign.Run
	err := each(add(&found, ledger.ScanRun), l.own.Runs+condition, args...)
	return ledger.Only(found, err, campaign.ErrNoRun)
}

// Run implements campaign.RunLedger.
func (l *Ledger) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	found, err := list(ctx, l.db, Sending, ledger.ScanRun, l.own.Runs+sqlThisRun, int64(no))
	return ledger.Only(found, err, campaign.ErrNoRun)
}

// Runs implements campaign.RunLedger.
func (l *Ledger) Runs(ctx context.Context, f campaign.RunFilter) ([]campaign.Run, error) {
	clause, args := ledger.RunClause(f)
	return list(ctx, l.db, Sending, ledger.ScanRun, l.own.Runs+clause, args...)
}

const sqlState = `SELECT state, wanted FROM run WHERE no = $1`

// lockRun reads the state of a run and what its operator wants, and keeps others from changing them
// until the transaction ends; campaign.ErrNoRun when there is no such run.
func lockRun(t Tx, no campaign.RunNo) (state campaign.State, wanted campaign.Wanted, err error) {
	found, err := one(t.Lock, []any{&state, &wanted}, sqlState, int64(no))
	if err == nil && !found {
		err = campaign.ErrNoRun
	}
	return state, wanted, err
}

// lockedRun is lockRun that reads the whole run.
func (l *Ledger) lockedRun(t Tx, no campaign.RunNo) (campaign.Run, error) {
	if _, _, err := lockRun(t, no); err != nil {
		return campaign.Run{}, err
	}
	return l.run(t.Each, sqlThisRun, int64(no))
}

const (
	sqlSetWanted = `UPDATE run SET wanted = $1 WHERE no = $2`
	sqlSetLimits = `UPDATE run SET limits = $1 WHERE no = $2`
)

// SetWanted implements campaign.RunLedger.
func (l *Ledger) SetWanted(ctx context.Context, no campaign.RunNo, w campaign.Wanted, who string) (out campaign.Run, err error) {
	if err := ledger.CheckWanted(w); err != nil {
		return out, err
	}
	err = l.db.Change(ctx, Sending, func(t Tx) error {
		r, err := l.lockedRun(t, no)
		if out = r; err != nil {
			return err
		}
		write, ready, err := ledger.Want(&r, w)
		if err != nil || !write {
			return err
		}
		if err := named(t, no, who, func() error {
			if _, err := t.Exec(sqlSetWanted, string(w), int64(no)); err != nil || !ready {
				return err
			}
			return SetState(t, &l.options, no, campaign.Ready, "", "")
		}); err != nil {
			return err
		}
		out, err = l.run(t.Each, sqlThisRun, int64(no))
		return err
	})
	return out, err
}

// SetLimits implements campaign.RunLedger.
func (l *Ledger) SetLimits(ctx context.Context, no campaign.RunNo, c campaign.LimitChange, who string) (out campaign.Run, err error) {
	err = l.db.Change(ctx, Sending, func(t Tx) error {
		r, err := l.lockedRun(t, no)
		if out = r; err != nil || r.State.Ended() {
			return err
		}
		limits, err := ledger.Limits(r.Changed, c)
		if err != nil {
			return err
		}
		if err := named(t, no, who, func() error {
			_, err := t.Exec(sqlSetLimits, limits, int64(no))
			return err
		}); err != nil {
			return err
		}
		out, err = l.run(t.Each, sqlThisRun, int64(no))
		return err
	})
	return out, err
}

const sqlMakeMarketing = `UPDATE run SET marketing = $1 WHERE no = $2`

// MakeMarketing implements campaign.RunLedger.
func (l *Ledger) MakeMarketing(ctx context.Context, no campaign.RunNo) error {
	return l.db.Change(ctx, Sending, func(t Tx) error {
		if _, _, err := lockRun(t, no); err != nil {
			return err
		}
		_, err := t.Exec(sqlMakeMarketing, true, int64(no))
		return err
	})
}

const (
	sqlUnstarted = `SELECT started_at = 0 FROM run WHERE no = $1`
	sqlSetState  = `UPDATE run SET state = $1, reason = $2, detail = $3,
		started_at = CASE WHEN started_at = 0 THEN $4 ELSE started_at END, ended_at = $5 WHERE no = $6`
)

// State is the statement that writes a state and the times that go with it, with its arguments.
func State(no campaign.RunNo, to campaign.State, reason campaign.PauseReason, detail string, now time.Time) (query string, args []any) {
	started, ended := ledger.StateTimes(to, now)
	return sqlSetState, []any{string(to), string(reason), detail, started, ended, int64(no)}
}

// SetState writes a state and its notifications.
func SetState(t Tx, o *ledger.Options, no campaign.RunNo, to campaign.State, reason campaign.PauseReason, detail string) error {
	now, first := time.Now(), false
	if o.Notify != nil {
		if _, err := one(t.Each, []any{&first}, sqlUnstarted, int64(no)); err != nil {
			return err
		}
	}
	if err := Notify(t, o.NotifyState(no, to, reason, detail, first, now)); err != nil {
		return err
	}
	query, args := State(no, to, reason, detail, now)
	_, err := t.Exec(query, args...)
	return err
}

// Approve implements campaign.RunLedger.
func (l *Ledger) Approve(ctx context.Context, no campaign.RunNo, who string) (bool, error) {
	return l.move(ctx, no, []campaign.State{campaign.WaitingApproval}, campaign.Ready, "", "", who)
}

// SetState implements campaign.RunLedger.
func (l *Ledger) SetState(ctx context.Context, no campaign.RunNo, from []campaign.State, to campaign.State,
	reason campaign.PauseReason, detail string) (changed bool, err error) {
	changed, err = l.move(ctx, no, from, to, reason, detail, "")
	if changed && to == campaign.RunStateFailed {
		_ = l.db.SkipFailed(ctx) // the run has failed; FinishRuns skips what is left
	}
	return changed, err
}

// move moves a run to another state; the history names who asked for it. It leaves the rows of a
// run that failed.
func (l *Ledger) move(ctx context.Context, no campaign.RunNo, from []campaign.State, to campaign.State,
	reason campaign.PauseReason, detail, who string) (changed bool, err error) {
	err = l.db.Change(ctx, Sending, func(t Tx) error {
		changed = false
		state, wanted, err := lockRun(t, no)
		if err != nil {
			return err
		}
		if ledger.MayMove(state, wanted, from, to, reason) {
			changed = true
			return named(t, no, who, func() error { return SetState(t, &l.options, no, to, reason, detail) })
		}
		changed = t.Again() && state == to // an earlier try of this call may have changed it
		return nil
	})
	return changed && err == nil, err
}

// In PostgreSQL nobody else locks more than one of these segments, and a claim of a cancelled run
// passes over those that are locked.
const sqlReleaseCanary = `UPDATE segment SET wake_at = 0
	WHERE id >= $1 AND id < $2 AND NOT done AND wake_at = 253402214400000 /* after the canary */`

// ReleaseCanary implements campaign.RunLedger.
func (l *Ledger) ReleaseCanary(ctx context.Context, no campaign.RunNo, who, seen string) error {
	return l.db.Change(ctx, Sending, func(t Tx) error {
		n, err := t.Exec(sqlReleaseCanary, ledger.SegmentKey(no, 0), ledger.SegmentKey(no+1, 0))
		if err == nil && n > 0 {
			_, err = t.Exec(sqlTellCanary, int64(no), ledger.Millis(time.Now()), who, ledger.PlainText(seen))
		}
		return err
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
	return l.db.Change(ctx, Sending, func(t Tx) error {
		if _, _, err := lockRun(t, no); err != nil {
			return err
		}
		for _, a := range assets {
			if _, err := t.Exec(sqlSetAsset, int64(no), a.Connection, a.ID, ledger.Millis(a.Until), a.File, a.SHA256); err != nil {
				return err
			}
		}
		_, err := t.Exec(sqlAssetOfRun, int64(no))
		return err
	})
}

// Assets implements campaign.RunLedger.
func (l *Ledger) Assets(ctx context.Context, no campaign.RunNo) ([]campaign.Asset, error) {
	return list(ctx, l.db, Sending, ledger.ScanAsset, sqlAssets, int64(no))
}
