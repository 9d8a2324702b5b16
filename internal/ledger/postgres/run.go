package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	"github.com/jackc/pgx/v5"
)

// selectRun is selectRun for PostgreSQL. Of a run without a budget each segment counts alone
// what was granted: a counter in one row would make its replicas wait for each other.
const selectRun = `SELECT r.no, r.campaign, r.list_hash, r.list_name, r.launch, r.parent, r.definition, r.header,
	r.template, r.language, r.marketing, r.budget,
	CASE WHEN r.budget > 0 THEN c.taken ELSE (SELECT coalesce(sum(s.taken), 0)::bigint FROM segment s WHERE s.id >= r.no << 32 AND s.id < (r.no + 1) << 32) END,
	r.asset, r.asset_until, c.rows, r.state, r.reason, r.detail,
	r.wanted, r.created_at, r.started_at, r.ended_at FROM run r JOIN run_count c ON c.no = r.no `

// runsOf reads what where selects.
func runsOf(into *[]campaign.Run, where string, a ...any) *query {
	return list(into, ledger.ScanRun, selectRun+where, a...)
}

// oneRun reads the run that where selects; campaign.ErrNoRun.
func (t *tx) oneRun(where string, a ...any) (campaign.Run, error) {
	var found []campaign.Run
	if err := t.do(runsOf(&found, where, a...)); err != nil {
		return campaign.Run{}, err
	}
	if len(found) == 0 {
		return campaign.Run{}, campaign.ErrNoRun
	}
	return found[0], nil
}

// CreateRun implements campaign.RunLedger.
func (l *Ledger) CreateRun(ctx context.Context, r campaign.Run) (out campaign.Run, err error) {
	header, err := json.Marshal(ledger.NonNil(r.Header))
	if err != nil {
		return out, fmt.Errorf("run header: %w", err)
	}
	if r.Wanted == "" {
		r.Wanted = campaign.WantRun
	}
	where, which := `WHERE r.campaign = $1 AND r.list_hash = $2 AND r.launch = $3`, []any{plainText(r.Campaign), plainText(r.ListHash), plainText(r.Launch)}
	if strings.HasPrefix(r.Launch, campaign.FiringKey) {
		where, which = `WHERE r.campaign = $1 AND substr(r.launch, 1, 5) = 'cron ' AND r.launch = $2`, []any{which[0], which[2]}
	}
	created := ledger.Millis(time.Now())
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		var err error
		if out, err = t.oneRun(where, which...); err == nil {
			if t.again && ledger.Millis(out.CreatedAt) == created {
				return nil // an earlier try made it
			}
			return campaign.ErrRunExists
		}
		if !errors.Is(err, campaign.ErrNoRun) {
			return err
		}
		var no int64
		switch err := t.do(row(&no, `INSERT INTO run (state, wanted, marketing, budget, template, language, created_at, parent, campaign, list_hash,
			launch, list_name, asset, asset_until, header, definition) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
			ON CONFLICT DO NOTHING RETURNING no`,
			string(campaign.Importing), string(r.Wanted), r.Marketing, r.Budget, plainText(r.Template), plainText(r.Language), created, int64(r.Parent),
			plainText(r.Campaign), plainText(r.ListHash), plainText(r.Launch), plainText(r.ListName), plainText(r.Asset), ledger.Millis(r.AssetUntil),
			string(header), ledger.NonNil(r.Definition))); {
		case errors.Is(err, pgx.ErrNoRows): // another replica made it in this instant, and has committed
			if out, err = t.oneRun(where, which...); err == nil {
				err = campaign.ErrRunExists
			}
			return err
		case err != nil:
			return err
		}
		if err := t.do(stmt(nil, `INSERT INTO run_count (no) VALUES ($1)`, no), stmt(nil, `INSERT INTO run_event (no) VALUES ($1)`, no)); err != nil {
			return err
		}
		out, err = t.oneRun(`WHERE r.no = $1`, no)
		return err
	})
	return out, err
}

// Run implements campaign.RunLedger.
func (l *Ledger) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	var found []campaign.Run
	if err := l.read(ctx, l.sender, runsOf(&found, `WHERE r.no = $1`, int64(no))); err != nil {
		return campaign.Run{}, err
	}
	if len(found) == 0 {
		return campaign.Run{}, campaign.ErrNoRun
	}
	return found[0], nil
}

// Runs implements campaign.RunLedger.
func (l *Ledger) Runs(ctx context.Context, w campaign.RunFilter) (all []campaign.Run, err error) {
	w.Campaign, w.ListHash, w.Launch = plainText(w.Campaign), plainText(w.ListHash), plainText(w.Launch)
	which, args := ledger.RunClause(w, "$")
	err = l.read(ctx, l.sender, runsOf(&all, which, args...))
	return all, err
}

// SetWanted implements campaign.RunLedger. What is cancelled also leaves Paused and
// WaitingApproval, and its parked segments wake, so that they can be claimed and dropped.
func (l *Ledger) SetWanted(ctx context.Context, no campaign.RunNo, w campaign.Wanted) (out campaign.Run, err error) {
	if err := ledger.CheckWanted(w); err != nil {
		return out, err
	}
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		state, err := t.lockRun(no)
		if err != nil {
			return err
		}
		if state.Ended() {
			out, err = t.oneRun(`WHERE r.no = $1`, int64(no))
			return err
		}
		qs := []*query{stmt(nil, `UPDATE run SET wanted = $1 WHERE no = $2`, string(w), int64(no))}
		if ledger.ReadyAgain(state, w) {
			qs = append(qs, setState(no, campaign.Ready, "", ""))
		}
		if w == campaign.WantCancel {
			qs = append(qs, stmt(nil, `UPDATE segment SET wake_at = 0 WHERE run = $1 AND NOT done AND wake_at <> 0`, int64(no)))
		}
		if err := t.do(qs...); err != nil {
			return err
		}
		out, err = t.oneRun(`WHERE r.no = $1`, int64(no))
		return err
	})
	return out, err
}

// lockRun reads the state of a run, which nobody changes before the transaction ends; campaign.ErrNoRun.
func (t *tx) lockRun(no campaign.RunNo) (state campaign.State, err error) {
	err = t.do(row(&state, `SELECT state FROM run WHERE no = $1 FOR NO KEY UPDATE`, int64(no)))
	if errors.Is(err, pgx.ErrNoRows) {
		err = campaign.ErrNoRun
	}
	return state, err
}

// setState writes a state and the times that go with it.
func setState(no campaign.RunNo, to campaign.State, reason campaign.PauseReason, detail string) *query {
	started, ended := ledger.StateTimes(to, time.Now())
	return stmt(nil, `UPDATE run SET state = $1, reason = $2, detail = $3, template_event = '',
		started_at = CASE WHEN started_at = 0 THEN $4 ELSE started_at END, ended_at = $5 WHERE no = $6`,
		string(to), string(reason), plainText(detail), started, ended, int64(no))
}

// startRun makes a Ready run Running, unless somebody paused it in this instant.
func startRun(nos ...int64) *query {
	return stmt(nil, `UPDATE run SET state = 'running', reason = '', detail = '', template_event = '',
		started_at = CASE WHEN started_at = 0 THEN $2 ELSE started_at END WHERE no = ANY($1) AND state = 'ready'`, nos, ledger.Millis(time.Now()))
}

// SetState implements campaign.RunLedger.
func (l *Ledger) SetState(ctx context.Context, no campaign.RunNo, from []campaign.State, to campaign.State, reason campaign.PauseReason, detail string) (moved bool, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		moved = false
		state, err := t.lockRun(no)
		if err != nil {
			return err
		}
		for _, f := range from {
			if f == state {
				moved = true
				return t.do(setState(no, to, reason, detail))
			}
		}
		if t.again && state == to { // an earlier try moved it, as far as anybody can tell
			moved = true
		}
		return nil
	})
	return moved && err == nil, err
}

// SetAsset implements campaign.RunLedger.
func (l *Ledger) SetAsset(ctx context.Context, no campaign.RunNo, assetID string, until time.Time) error {
	return l.change(ctx, l.sender, "", func(t *tx) error {
		var n int64
		err := t.do(stmt(&n, `UPDATE run SET asset = $1, asset_until = $2 WHERE no = $3`, plainText(assetID), ledger.Millis(until), int64(no)))
		if err == nil && n == 0 {
			err = campaign.ErrNoRun
		}
		return err
	})
}

const endable = ` FROM run WHERE state IN ('ready', 'running')
	AND NOT EXISTS (SELECT 1 FROM segment WHERE segment.run = run.no AND NOT done)`

// FinishRuns implements campaign.RunLedger. Of several replicas one moves each run.
func (l *Ledger) FinishRuns(ctx context.Context) (moved []campaign.Run, err error) {
	var some bool // polled often: look before a transaction begins
	if err := l.read(ctx, l.sender, row(&some, `SELECT EXISTS (SELECT 1`+endable+`)`)); err != nil || !some {
		return nil, err
	}
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		moved = nil
		var nos []int64
		if err := t.do(each(func(scan func(...any) error) error {
			var no int64
			err := scan(&no)
			nos = append(nos, no)
			return err
		}, `UPDATE run SET state = CASE WHEN wanted = 'cancel' THEN 'cancelled' ELSE 'finished' END, reason = '', detail = '', template_event = '', ended_at = $1
			WHERE no IN (SELECT no`+endable+` ORDER BY no FOR NO KEY UPDATE SKIP LOCKED) RETURNING no`, ledger.Millis(time.Now()))); err != nil || len(nos) == 0 {
			return err
		}
		return t.do(runsOf(&moved, `WHERE r.no = ANY($1) ORDER BY r.no`, nos))
	})
	return moved, err
}
