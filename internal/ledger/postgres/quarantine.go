package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/ledger"
)

// quarantineTime is the time limit of a quarantine. Measured, a million doubts take about 12 s.
const quarantineTime = 15 * time.Minute

// Restored returns ledger.ErrRestored with its reason while a ledger that was found on another
// server or timeline waits for its quarantine. Other errors say that the server did not answer.
func (l *Ledger) Restored(ctx context.Context) error { return l.checkIdentity(ctx) }

// Quarantine makes a ledger that went back in time safe to send from, as Quarantine of package
// sqlite does (docs/protocol.md#when-the-ledger-goes-back-in-time). Senders that still run are
// fenced, and go on when their run is resumed.
func (l *Ledger) Quarantine(ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time) (int64, error) {
	return l.quarantine(ctx, ahead, of, since, false)
}

// Rehearse returns what Quarantine would return, and changes nothing.
func (l *Ledger) Rehearse(ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time) (int64, error) {
	return l.quarantine(ctx, ahead, of, since, true)
}

// A wire log covers what has no durable result. In a ledger that went back in time that is more
// than its owner knew. Therefore the ledger forgets the owners of open attempts (granted_by).
const (
	sqlForgetSegments = `UPDATE segment SET granted_by = '' WHERE id IN
		(SELECT id FROM segment WHERE NOT done AND granted_by <> '' ORDER BY id FOR UPDATE)`
	sqlForgetDoubts = `UPDATE outcome SET granted_by = NULL WHERE rid IN
		(SELECT rid FROM outcome WHERE state IN (1, 2, 3) /* open */ AND granted_by IS NOT NULL ORDER BY rid FOR UPDATE)`
)

const (
	sqlSetIdentity = `UPDATE ledger SET system = $1, timeline = $2 WHERE one = 1`
	sqlInsertLost  = `INSERT INTO lost_time (at, since) VALUES ($1, $2) ON CONFLICT DO NOTHING`
)

func (l *Ledger) quarantine(
	ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time, rehearse bool,
) (n int64, err error) {
	if l.readOnly {
		return 0, fmt.Errorf("%s is open for reading only", l.name)
	}
	ctx, cancel := context.WithTimeout(ctx, quarantineTime)
	defer cancel()
	var here serverIdentity
	var unknown error
	err = l.retry(ctx, l.reports, func() error {
		err := l.transact(ctx, l.reports, sqlBegin, "", false, func(t *tx) (err error) {
			n = 0
			now := ledger.Millis(time.Now())
			if err := t.do(rowOf([]any{&here.system, &here.timeline}, sqlServer)); err != nil {
				return err
			}
			if ahead > 0 {
				if n, err = t.quarantine(ahead, of, ledger.Millis(since), now); err != nil {
					return err
				}
			}
			if rehearse {
				return ledger.ErrRehearsed
			}
			if !since.IsZero() {
				if err := t.do(stmt(nil, sqlInsertLost, now, ledger.Millis(since))); err != nil {
					return err
				}
			}
			return t.do(stmt(nil, sqlForgetSegments), stmt(nil, sqlForgetDoubts), stmt(nil, sqlSetIdentity, here.system, here.timeline))
		})
		if errors.Is(err, campaign.ErrUnknownCommit) { // no second try: it could move the marks twice
			unknown = err
			return nil
		}
		return err
	})
	if unknown != nil {
		return 0, l.explain(unknown)
	}
	if errors.Is(err, ledger.ErrRehearsed) {
		return n, nil
	}
	if err != nil {
		return 0, err
	}
	l.identity.Store(&here)
	l.identityChanged.Store(false)
	return n, nil
}

const (
	sqlPauseRestored = `UPDATE run
		SET detail = CASE WHEN state = 'paused' THEN $1::text || $2::text || reason || ' ' || detail ELSE $1::text END,
			state = 'paused', reason = 'ledger' WHERE ` + ledger.PausedByRestore
	sqlPauseImports = `UPDATE run SET wanted = 'pause' WHERE state = 'importing' AND wanted = 'run'`
	sqlFenceUndone  = `UPDATE segment s SET epoch = epoch + 1, lease_until = 0, owner = '',
			wake_at = CASE WHEN wake_at = 253402214400000 /* after the canary */ THEN wake_at ELSE 0 END
		WHERE id IN (SELECT id FROM segment WHERE NOT done ORDER BY id FOR UPDATE)`
	sqlUndoneSegments = `SELECT id, lo, hi, mark, intents_since FROM segment WHERE NOT done ORDER BY id`
)

// quarantine pauses the runs and puts in doubt the deliveries that may have been posted. It locks
// runs before their segments, as every transaction does.
func (t *tx) quarantine(ahead int64, of map[campaign.RunNo]int64, since, now int64) (n int64, err error) {
	var segments []ledger.Segment
	if err := t.do(
		stmt(nil, sqlPauseRestored, ledger.RestoredDetail, ledger.PausedBefore),
		stmt(nil, sqlPauseImports),
		stmt(nil, sqlFenceUndone),
		list(&segments, ledger.ScanSegment, sqlUndoneSegments)); err != nil {
		return 0, err
	}
	for _, s := range segments {
		doubts, err := t.quarantineSegment(s, ledger.AheadOf(s, ahead, of), since, now)
		if err != nil {
			return 0, err
		}
		n += doubts
	}
	return n, nil
}

const (
	sqlDoubtRestored = `INSERT INTO outcome (rid, state, attempt, result_at, intent_at, code)
		SELECT d.rid, 3 /* in doubt */, 1, $3, $4, $5 FROM delivery d WHERE d.rid >= $1 AND d.rid < $2 AND ` + sqlNoOutcome + `
		ORDER BY d.rid ON CONFLICT (rid) DO NOTHING`
	sqlCountUngranted = `SELECT count(*) FROM outcome
		WHERE rid >= $1 AND rid < $2 AND state = 1 /* deferred */ AND attempt = 0 AND next_due <= $3`
	sqlDoubtRetries = `UPDATE outcome SET attempt = attempt + CASE WHEN state = 1 /* deferred */ THEN 1 ELSE 0 END,
			result_at = $3, next_due = NULL, code = $5, detail = NULL, request_id = NULL, trace_id = NULL,
			intent_at = least(intent_at, $4), state = 3 /* in doubt */
		WHERE rid >= $1 AND rid < $2 AND (state = 2 /* retrying */ OR state = 1 /* deferred */ AND next_due <= $3)`
	sqlAdvanceMark   = `UPDATE segment SET mark = $2, taken = taken + $3 WHERE id = $1`
	sqlDefinition    = `SELECT definition FROM run WHERE no = $1`
	sqlAnyConnection = `UPDATE attempt SET connection = '' WHERE rid >= $1 AND rid < $2 AND doubt_at = $3`
	// The lost time cannot have granted more than the budget allowed.
	sqlTakeRestored = `UPDATE run_count c SET taken = greatest(c.taken, least(c.taken + $2, r.budget)) FROM run r
		WHERE c.no = $1 AND r.no = c.no AND r.budget > 0`
)

// quarantineSegment moves the mark of one segment and returns how many deliveries it put in doubt.
func (t *tx) quarantineSegment(s ledger.Segment, ahead, since, now int64) (int64, error) {
	t.recount(s.First())
	from := s.Marked()
	first := s.Advance(ahead, since)
	var inFlight, fresh, ungranted, retried int64
	if err := t.do(
		stmt(&inFlight, sqlDoubtRestored, s.First(), from, now, first, ledger.CodeRestored),
		stmt(&fresh, sqlDoubtRestored, from, s.Marked(), now, since, ledger.CodeRestored),
		// Retries that were due or in flight. One that was never granted counts against the budget now.
		row(&ungranted, sqlCountUngranted, s.First(), s.End(), now),
		stmt(&retried, sqlDoubtRetries, s.First(), s.End(), now, since, ledger.CodeRestored)); err != nil {
		return 0, err
	}
	taken := fresh + ungranted
	var definition []byte
	if err := t.do(row(&definition, sqlDefinition, int64(ledger.RunOf(s.Key))), stmt(nil, sqlOpenAttemptsIn, s.First(), s.End())); err != nil {
		return 0, err
	}
	if file.MayHaveMoved(definition) {
		if err := t.do(stmt(nil, sqlAnyConnection, s.First(), s.End(), now)); err != nil {
			return 0, err
		}
	}
	return inFlight + fresh + retried, t.do(
		stmt(nil, sqlAdvanceMark, s.Key, s.Mark, taken),
		stmt(nil, sqlTakeRestored, int64(ledger.RunOf(s.Key)), taken))
}
