package sqlite

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite/dbfile"
)

// Restored returns ledger.ErrRestored with its reason while a ledger that was opened with
// AcceptRestored waits for its quarantine, and nil otherwise.
func (l *Ledger) Restored(context.Context) error {
	if why := l.restored.Load(); why != nil {
		return *why
	}
	return nil
}

// Quarantine makes a ledger that went back in time safe to send from. The ledger must be open as a
// sender, with AcceptRestored (docs/protocol.md#when-the-ledger-goes-back-in-time). In one
// transaction Quarantine
//   - moves the mark of every unfinished segment up by ahead deliveries (rate x lost time), or by
//     of[run] where of has its run, and puts in doubt the deliveries below it, the retries that
//     were due by now, and those in flight. Each may have been posted in the lost time, which began
//     at since. They count against the budget;
//   - pauses every run that could send, with the reason ledger, and lets an import end in a pause;
//   - records the lost time, whose events are to be replayed (reception.LostTime);
//   - ends every lease, and accepts the ledger as the one to go on from.
//
// It returns how many deliveries it put in doubt. An ahead of 0 says that nothing was posted: the
// ledger is accepted with no doubt and no pause. A zero since says that nothing was lost.
func (l *Ledger) Quarantine(ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time) (int64, error) {
	return l.quarantine(ctx, ahead, of, since, false)
}

// Rehearse returns what Quarantine would return, and changes nothing.
func (l *Ledger) Rehearse(ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time) (int64, error) {
	return l.quarantine(ctx, ahead, of, since, true)
}

const sqlInsertLost = `INSERT INTO lost_time (at, since) VALUES (?, ?) ON CONFLICT DO NOTHING`

func (l *Ledger) quarantine(
	ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time, rehearse bool,
) (n int64, err error) {
	var r dbfile.Renewal
	err = l.write(ctx, urgent, func(t *tx) (err error) {
		n = 0
		now := ledger.Millis(time.Now())
		if ahead > 0 {
			if n, err = t.quarantine(ahead, of, ledger.Millis(since), now); err != nil {
				return err
			}
		}
		if rehearse {
			return ledger.ErrRehearsed
		}
		if !since.IsZero() {
			if _, err := t.exec(sqlInsertLost, now, ledger.Millis(since)); err != nil {
				return err
			}
		}
		for _, forget := range []string{sqlForgetSegments, sqlForgetDoubts} {
			if _, err := t.exec(forget); err != nil {
				return err
			}
		}
		r, err = t.begin(l)
		return err
	})
	if errors.Is(err, ledger.ErrRehearsed) {
		return n, nil
	}
	if err == nil {
		err = r.Done()
	}
	if err != nil {
		return 0, err
	}
	l.renewing.Lock()
	l.stamp = r.Stamp
	l.renewing.Unlock()
	l.restored.Store(nil)
	return n, nil
}

// A wire log covers what has no durable result. In a ledger that went back in time that is more
// than its owner knew. Therefore the ledger forgets the owners of open attempts (granted_by).
const (
	sqlForgetSegments = `UPDATE segment SET granted_by = '' WHERE granted_by <> '' AND done = 0`
	sqlForgetDoubts   = `UPDATE outcome INDEXED BY outcome_open SET granted_by = ''
		WHERE state IN (1, 2, 3) /* open */ AND granted_by <> ''`
)

const sqlNumber = `SELECT id, opens FROM ledger`

// begin accepts the ledger as the one to go on from and ends every lease.
func (t *tx) begin(l *Ledger) (r dbfile.Renewal, err error) {
	var s dbfile.Stamp
	if err := t.row(sqlNumber, nil, &s.ID, &s.Number); err != nil {
		return r, err
	}
	next := dbfile.Stamp{ID: s.ID, Number: max(s.Number, -s.Number)} // that of a copy of Backup is below 0
	if seen, err := dbfile.ReadStamp(dbfile.StampPath(l.path)); err == nil {
		next.Number = max(next.Number, seen.Number)
	}
	if r, err = next.Prepare(l.path, l.file); err != nil {
		return r, err
	}
	if _, err := t.exec(sqlSetNumber, r.Stamp.Number, r.Files.String(), s.Number); err != nil {
		return r, err
	}
	for _, end := range endLeases {
		if _, err := t.exec(end); err != nil {
			return r, err
		}
	}
	return r, nil
}

const (
	sqlPauseRestored = `UPDATE run SET detail = CASE WHEN state = 'paused' THEN ?1 || ?2 || reason || ' ' || detail ELSE ?1 END,
			state = 'paused', reason = 'ledger' WHERE ` + ledger.PausedByRestore
	sqlPauseImports   = `UPDATE run SET wanted = 'pause' WHERE state = 'importing' AND wanted = 'run'`
	sqlUndoneSegments = `SELECT id, lo, hi, mark, intents_since FROM segment WHERE done = 0 ORDER BY id`
)

// quarantine pauses the runs and puts in doubt the deliveries that may have been posted.
func (t *tx) quarantine(ahead int64, of map[campaign.RunNo]int64, since, now int64) (n int64, err error) {
	if _, err := t.exec(sqlPauseRestored, ledger.RestoredDetail, ledger.PausedBefore); err != nil {
		return 0, err
	}
	if _, err := t.exec(sqlPauseImports); err != nil {
		return 0, err
	}
	var segments []ledger.Segment
	if err := t.each(sqlUndoneSegments, nil, list(&segments, ledger.ScanSegment)); err != nil {
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
		SELECT d.rid, 3 /* in doubt */, 1, ?3, ?4, ?5 FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid >= ?1 AND d.rid < ?2 AND o.rid IS NULL`
	sqlCountUngranted = `SELECT count(*) FROM outcome INDEXED BY outcome_open WHERE rid >= ?1 AND rid < ?2
		AND state IN (1, 2, 3) /* open */ AND state = 1 /* deferred */ AND attempt = 0 AND next_due <= ?3`
	sqlDoubtRetries = `UPDATE outcome SET attempt = attempt + (state = 1 /* deferred */), result_at = ?3, next_due = 0, code = ?5,
			detail = '', request_id = '', trace_id = '', intent_at = CASE WHEN intent_at > 0 THEN min(intent_at, ?4) ELSE ?4 END,
			state = 3 /* in doubt */
		WHERE rid >= ?1 AND rid < ?2 AND state IN (1, 2, 3) /* open */
		AND (state = 2 /* retrying */ OR state = 1 /* deferred */ AND next_due <= ?3)`
	sqlAdvanceMark = `UPDATE segment SET mark = ?, epoch = epoch + 1, lease_until = 0, owner = '',
		wake_at = CASE WHEN wake_at = 253402214400000 /* after the canary */ THEN wake_at ELSE 0 END WHERE id = ?`
	sqlDefinition    = `SELECT definition FROM run WHERE no = ?`
	sqlAnyConnection = `UPDATE attempt SET connection = '' WHERE rid >= ? AND rid < ? AND doubt_at = ?`
	// The lost time cannot have granted more than the budget allowed.
	sqlTakeRestored = `UPDATE run_count
		SET taken = CASE WHEN r.budget > 0 THEN max(taken, min(taken + ?1, r.budget)) ELSE taken + ?1 END
		FROM run r WHERE run_count.no = ?2 AND r.no = run_count.no`
)

// quarantineSegment moves the mark of one segment and returns how many deliveries it put in doubt.
func (t *tx) quarantineSegment(s ledger.Segment, ahead, since, now int64) (n int64, err error) {
	t.recount(s.First())
	from := s.Marked()
	first := s.Advance(ahead, since)
	inFlight, err := t.exec(sqlDoubtRestored, s.First(), from, now, first, ledger.CodeRestored)
	if err != nil {
		return 0, err
	}
	fresh, err := t.exec(sqlDoubtRestored, from, s.Marked(), now, since, ledger.CodeRestored)
	if err != nil {
		return 0, err
	}
	// Retries that were due or in flight. One that was never granted counts against the budget now.
	var ungranted int64
	if err := t.row(sqlCountUngranted, args(s.First(), s.End(), now), &ungranted); err != nil {
		return 0, err
	}
	retried, err := t.exec(sqlDoubtRetries, s.First(), s.End(), now, since, ledger.CodeRestored)
	if err != nil {
		return 0, err
	}
	if _, err := t.exec(sqlOpenAttempts, s.First(), s.End()); err != nil {
		return 0, err
	}
	var definition []byte
	if err := t.row(sqlDefinition, args(int64(ledger.RunOf(s.Key))), &definition); err != nil {
		return 0, err
	}
	if file.MayHaveMoved(definition) {
		if _, err := t.exec(sqlAnyConnection, s.First(), s.End(), now); err != nil {
			return 0, err
		}
	}
	if _, err := t.exec(sqlAdvanceMark, s.Mark, s.Key); err != nil {
		return 0, err
	}
	_, err = t.exec(sqlTakeRestored, fresh+ungranted, int64(ledger.RunOf(s.Key)))
	return inFlight + fresh + retried, err
}
