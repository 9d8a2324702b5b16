package sqlite

import (
	"context"
	"errors"
	"time"

	"campaignd/internal/ledger"
)

// Restored answers ErrRestored with its reason while the ledger, opened with AcceptRestored, waits for its
// quarantine, and nil otherwise.
func (l *Ledger) Restored(context.Context) error {
	if why := l.restored.Load(); why != nil {
		return *why
	}
	return nil
}

// Quarantine is for a ledger that went back in time, opened as sender with AcceptRestored (reliability.md 2.3).
// In one transaction it
//   - moves the mark of every unfinished segment up by ahead deliveries (rate x lost time) and puts in doubt
//     what lies below it, each retry that was due by now, and what was in flight: all may have been posted in the
//     lost time, from since on. They are counted against the run's budget.
//   - pauses every run that could send with the reason ledger, and lets an import end in a pause.
//   - accepts the ledger as the one to go on from. Every lease ends.
//
// It returns how many deliveries it put in doubt. Ahead 0 says that nothing was posted: the ledger is
// accepted as it stands, nothing is put in doubt or paused.
func (l *Ledger) Quarantine(ctx context.Context, ahead int64, since time.Time) (int64, error) {
	n, err := l.quarantine(ctx, ahead, since, false)
	if err != nil {
		return 0, err
	}
	l.restored.Store(nil)
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
	var s stamp
	err = l.write(ctx, urgent, func(t *tx) (err error) {
		n = 0
		if ahead > 0 {
			if n, err = t.quarantine(ahead, ledger.Millis(since), ledger.Millis(time.Now())); err != nil {
				return err
			}
		}
		if rehearse {
			return ledger.ErrRehearsed
		}
		if err := t.row(`SELECT id, opens FROM ledger`, nil, &s.id, &s.opens); err != nil {
			return err
		}
		return t.begin(l.path, &s)
	})
	if err != nil {
		return n, err
	}
	// After the commit: a crash in between is another quarantine, never none.
	return n, s.write(stampPath(l.path))
}

// begin makes the transaction's ledger the one to go on from: nobody else is sending.
func (t *tx) begin(path string, s *stamp) error {
	if seen, err := readStamp(stampPath(path)); err == nil {
		s.opens = max(s.opens, seen.opens)
	}
	s.opens++
	if _, err := t.exec(`UPDATE ledger SET opens = ?`, s.opens); err != nil {
		return err
	}
	for _, query := range endLeases {
		if _, err := t.exec(query); err != nil {
			return err
		}
	}
	return nil
}

// quarantine pauses the runs and puts in doubt what may have been posted.
func (t *tx) quarantine(ahead, since, now int64) (n int64, err error) {
	if _, err := t.exec(`UPDATE run SET detail = CASE WHEN state = 'paused' THEN ?1 || ?2 || reason || ' ' || detail ELSE ?1 END,
		state = 'paused', reason = 'ledger', template_event = ''
		WHERE wanted <> 'cancel' AND (state IN ('ready', 'running') OR state = 'paused' AND reason NOT IN ('operator', 'ledger'))`, ledger.RestoredDetail, ledger.PausedBefore); err != nil {
		return 0, err
	}
	if _, err := t.exec(`UPDATE run SET wanted = 'pause' WHERE state = 'importing' AND wanted = 'run'`); err != nil {
		return 0, err
	}
	type part struct {
		ledger.Segment
		bound bool
	}
	var parts []part
	if err := t.each(`SELECT id, lo, hi, mark, intents_since, connection <> '' FROM segment WHERE done = 0 ORDER BY id`, nil, func(scan func(...any) error) error {
		var p part
		err := scan(&p.Key, &p.Lo, &p.Hi, &p.Mark, &p.Since, &p.bound)
		parts = append(parts, p)
		return err
	}); err != nil {
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

func (t *tx) quarantineSegment(h ledger.Segment, bound bool, ahead, since, now int64) (n int64, err error) {
	from := h.Marked()
	first, flags := h.Advance(bound, ahead, since)
	const insert = `INSERT INTO outcome (rid, state, attempt, result_at, intent_at, key, code, flags)
		SELECT d.rid, 3, 1, ?3, ?4, d.key, ?5, ?6 FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid >= ?1 AND d.rid < ?2 AND o.rid IS NULL`
	flying, err := t.exec(insert, h.First(), from, now, first, ledger.CodeRestored, 0)
	if err != nil {
		return 0, err
	}
	fresh, err := t.exec(insert, from, h.Marked(), now, since, ledger.CodeRestored, flags)
	if err != nil {
		return 0, err
	}
	// Retries: those that were due, and those in flight. One that was never granted counts from now on.
	var ungranted int64
	if err := t.row(`SELECT count(*) FROM outcome INDEXED BY outcome_open WHERE rid >= ?1 AND rid < ?2 AND state IN (1, 2, 3)
		AND state = 1 AND attempt = 0 AND next_due <= ?3`, args(h.First(), h.End(), now), &ungranted); err != nil {
		return 0, err
	}
	retried, err := t.exec(`UPDATE outcome SET attempt = attempt + (state = 1), result_at = ?3, next_due = 0, code = ?5, detail = '', request_id = '', trace_id = '',
		intent_at = CASE WHEN intent_at > 0 THEN min(intent_at, ?4) ELSE ?4 END, key = (SELECT key FROM delivery d WHERE d.rid = outcome.rid), state = 3
		WHERE rid >= ?1 AND rid < ?2 AND state IN (1, 2, 3) AND (state = 2 OR state = 1 AND next_due <= ?3)`, h.First(), h.End(), now, since, ledger.CodeRestored)
	if err != nil {
		return 0, err
	}
	if _, err := t.exec(`UPDATE segment SET mark = ?, epoch = epoch + 1, lease_until = 0, wake_at = 0, owner = '' WHERE id = ?`, h.Mark, h.Key); err != nil {
		return 0, err
	}
	// At most what the budget allowed can have been posted.
	_, err = t.exec(`UPDATE run_count SET taken = CASE WHEN r.budget > 0 THEN max(taken, min(taken + ?1, r.budget)) ELSE taken + ?1 END
		FROM run r WHERE run_count.no = ?2 AND r.no = run_count.no`, fresh+ungranted, int64(ledger.RunOf(h.Key)))
	return flying + fresh + retried, err
}
