package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// quarantineTime bounds a quarantine: a million doubts take about 12 s.
const quarantineTime = 15 * time.Minute

// Restored answers ErrRestored with its reason when the ledger was found to stand on another server or timeline
// than before, until it is quarantined. Other errors: the server could not be asked.
func (l *Ledger) Restored(ctx context.Context) error { return l.checkIdentity(ctx) }

// Quarantine is that of package sqlite. Senders that stayed are fenced, and go on when the run is resumed.
func (l *Ledger) Quarantine(ctx context.Context, ahead int64, since time.Time) (int64, error) {
	n, err := l.quarantine(ctx, ahead, since, false)
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Rehearse returns what Quarantine would, and changes nothing.
func (l *Ledger) Rehearse(ctx context.Context, ahead int64, since time.Time) (int64, error) {
	n, err := l.quarantine(ctx, ahead, since, true)
	if errors.Is(err, ledger.ErrRehearsed) {
		return n, nil
	}
	return 0, err
}

func (l *Ledger) quarantine(ctx context.Context, ahead int64, since time.Time, rehearse bool) (n int64, err error) {
	if l.readOnly {
		return 0, fmt.Errorf("%s is open for reading only", l.name)
	}
	ctx, cancel := context.WithTimeout(ctx, quarantineTime)
	defer cancel()
	var here serverIdentity
	var unknown error
	err = l.retry(ctx, l.reports, func() error {
		err := l.transact(ctx, l.reports, "begin", "", false, func(t *tx) (err error) {
			n = 0
			if err := t.do(rowOf([]any{&here.system, &here.timeline}, selectIdentity)); err != nil {
				return err
			}
			if ahead > 0 {
				if n, err = t.quarantine(ahead, ledger.Millis(since), ledger.Millis(time.Now())); err != nil {
					return err
				}
			}
			if rehearse {
				return ledger.ErrRehearsed
			}
			return t.do(stmt(nil, `UPDATE ledger SET system = $1, timeline = $2 WHERE one = 1`, here.system, here.timeline))
		})
		if errors.Is(err, campaign.ErrUnknownCommit) { // not again by itself: the marks would move twice
			unknown = err
			return nil
		}
		return err
	})
	if unknown != nil {
		return 0, l.explain(unknown)
	}
	if err != nil {
		return n, err
	}
	l.identity.Store(&here)
	l.identityChanged.Store(false)
	return n, nil
}

// quarantine pauses the runs and puts in doubt what may have been posted. Runs come before their segments, as
// everywhere.
func (t *tx) quarantine(ahead, since, now int64) (n int64, err error) {
	type part struct {
		ledger.Segment
		bound bool
	}
	var parts []part
	if err := t.do(
		stmt(nil, `UPDATE run SET detail = CASE WHEN state = 'paused' THEN $1::text || $2::text || reason || ' ' || detail ELSE $1::text END,
			state = 'paused', reason = 'ledger', template_event = ''
			WHERE wanted <> 'cancel' AND (state IN ('ready', 'running') OR state = 'paused' AND reason NOT IN ('operator', 'ledger'))`, ledger.RestoredDetail, ledger.PausedBefore),
		stmt(nil, `UPDATE run SET wanted = 'pause' WHERE state = 'importing' AND wanted = 'run'`),
		stmt(nil, `UPDATE segment s SET epoch = epoch + 1, lease_until = 0, wake_at = 0, owner = ''
			WHERE id IN (SELECT id FROM segment WHERE NOT done ORDER BY id FOR UPDATE)`),
		each(func(scan func(...any) error) error {
			var p part
			err := scan(&p.Key, &p.Lo, &p.Hi, &p.Mark, &p.Since, &p.bound)
			parts = append(parts, p)
			return err
		}, `SELECT id, lo, hi, mark, intents_since, connection <> '' FROM segment WHERE NOT done ORDER BY id`)); err != nil {
		return 0, err
	}
	for _, p := range parts {
		doubts, err := t.quarantineSegment(p.Segment, p.bound, ahead, since, now)
		if err != nil {
			return 0, err
		}
		n += doubts
	}
	return n, nil
}

func (t *tx) quarantineSegment(h ledger.Segment, bound bool, ahead, since, now int64) (int64, error) {
	from := h.Marked()
	first, flags := h.Advance(bound, ahead, since)
	const insert = `INSERT INTO outcome (rid, state, attempt, result_at, intent_at, key, code, flags)
		SELECT d.rid, 3, 1, $3, $4, d.key, $5, $6 FROM delivery d WHERE d.rid >= $1 AND d.rid < $2 AND ` + noOutcome + ` ORDER BY d.rid ON CONFLICT (rid) DO NOTHING`
	var flying, fresh, ungranted, retried int64
	if err := t.do(
		stmt(&flying, insert, h.First(), from, now, first, ledger.CodeRestored, 0),
		stmt(&fresh, insert, from, h.Marked(), now, since, ledger.CodeRestored, flags),
		// Retries: those that were due, and those in flight. One that was never granted counts from now on.
		row(&ungranted, `SELECT count(*) FROM outcome WHERE rid >= $1 AND rid < $2 AND state = 1 AND attempt = 0 AND next_due <= $3`, h.First(), h.End(), now),
		stmt(&retried, `UPDATE outcome SET attempt = attempt + CASE WHEN state = 1 THEN 1 ELSE 0 END, result_at = $3, next_due = NULL, code = $5,
			detail = NULL, request_id = NULL, trace_id = NULL, intent_at = least(intent_at, $4), key = (SELECT key FROM delivery d WHERE d.rid = outcome.rid), state = 3
			WHERE rid >= $1 AND rid < $2 AND (state = 2 OR state = 1 AND next_due <= $3)`, h.First(), h.End(), now, since, ledger.CodeRestored)); err != nil {
		return 0, err
	}
	taken := fresh + ungranted
	return flying + fresh + retried, t.do(
		stmt(nil, `UPDATE segment SET mark = $2, taken = taken + $3 WHERE id = $1`, h.Key, h.Mark, taken),
		// At most what the budget allowed can have been posted.
		stmt(nil, `UPDATE run_count c SET taken = greatest(c.taken, least(c.taken + $2, r.budget)) FROM run r
			WHERE c.no = $1 AND r.no = c.no AND r.budget > 0`, int64(ledger.RunOf(h.Key)), taken))
}
