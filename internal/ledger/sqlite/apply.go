package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
)

// waitingStatus is a status of a message, as an orphan keeps it.
type waitingStatus struct {
	mh        int64
	messageID string
	rank      ledger.Rank
	at        int64
	code      string
}

// moves holds, by rank, the statement that moves a delivery's status forward: times to
// the earliest, rank to the highest, and a failure's code with its earliest time. It
// changes only a row to which the event is news, so events commute and repeat harmlessly.
//
// It names one row by its key on purpose. Found by the hash of its message, SQLite would take it for a
// statement that may change several rows, and copy each page aside first; with RETURNING it would
// build a temporary table. Measured, each doubles the cost.
var moves = [...]string{
	ledger.RankSent: `UPDATE outcome SET rank = max(rank, 1), sent_at = ?3
		WHERE rid = ?1 AND message_id = ?2 AND (sent_at = 0 OR sent_at > ?3) AND ?4 = ''`,
	ledger.RankDelivered: `UPDATE outcome SET rank = max(rank, 3), delivered_at = ?3
		WHERE rid = ?1 AND message_id = ?2 AND (delivered_at = 0 OR delivered_at > ?3) AND ?4 = ''`,
	ledger.RankRead: `UPDATE outcome SET rank = max(rank, 4), read_at = ?3
		WHERE rid = ?1 AND message_id = ?2 AND (read_at = 0 OR read_at > ?3) AND ?4 = ''`,
	ledger.RankFailed: `UPDATE outcome SET rank = max(rank, 2), failed_at = ?3, fail_code = ?4
		WHERE rid = ?1 AND message_id = ?2
		AND (failed_at = 0 OR failed_at > ?3 OR failed_at = ?3 AND fail_code > ?4)`,
}

// overwrites is the mistake "the last event wins" (mutant rank_overwritten).
var overwrites = [...]string{
	ledger.RankSent:      `UPDATE outcome SET rank = 1, sent_at = ?3 WHERE rid = ?1 AND message_id = ?2 AND ?4 = ''`,
	ledger.RankDelivered: `UPDATE outcome SET rank = 3, delivered_at = ?3 WHERE rid = ?1 AND message_id = ?2 AND ?4 = ''`,
	ledger.RankRead:      `UPDATE outcome SET rank = 4, read_at = ?3 WHERE rid = ?1 AND message_id = ?2 AND ?4 = ''`,
	ledger.RankFailed:    `UPDATE outcome SET rank = 2, failed_at = ?3, fail_code = ?4 WHERE rid = ?1 AND message_id = ?2`,
}

// located holds, by message hash, the deliveries that have it: nearly always one.
type located map[int64][]int64

// locateWidth is how many hashes one statement looks for.
const locateWidth = 32

var (
	locateOne  = `SELECT mh, rid FROM outcome WHERE mh <> 0 AND mh = ?`
	locateMany = `SELECT mh, rid FROM outcome WHERE mh <> 0 AND mh IN (?` + strings.Repeat(", ?", locateWidth-1) + `)`
)

// locate finds the deliveries of these hashes.
func (t *tx) locate(hashes []any) (located, error) {
	found := make(located, len(hashes))
	add := func(scan func(...any) error) error {
		var mh, r int64
		err := scan(&mh, &r)
		if !slices.Contains(found[mh], r) {
			found[mh] = append(found[mh], r)
		}
		return err
	}
	for len(hashes) > 0 {
		n, query := 1, locateOne
		if len(hashes) >= locateWidth {
			n, query = locateWidth, locateMany
		}
		if err := t.each(query, hashes[:n], add); err != nil {
			return nil, err
		}
		hashes = hashes[n:]
	}
	return found, nil
}

// move applies one status to the deliveries of its hash and adds the runs it moved to touched. known is
// false when no delivery has the message id, news false when the event told nothing new.
// All rows of a repeated message id move.
func (t *tx) move(s waitingStatus, at located, touched map[campaign.RunNo]bool) (known, news bool, err error) {
	query := moves[s.rank]
	if mutant.On("rank_overwritten") {
		query = overwrites[s.rank]
	}
	if s.rank != ledger.RankFailed {
		s.code = ""
	}
	for _, r := range at[s.mh] {
		n, err := t.exec(query, r, s.messageID, s.at, s.code)
		if err != nil {
			return false, false, err
		}
		if n > 0 {
			touched[ledger.RunOf(r)] = true
			known, news = true, true
			if s.rank == ledger.RankFailed && mutant.On("failed_resends") {
				if err := t.resendFailed(r, s.at); err != nil {
					return false, false, err
				}
			}
		}
	}
	for _, r := range at[s.mh] {
		if known {
			break
		}
		if err := t.row(`SELECT message_id = ?2 FROM outcome WHERE rid = ?1`, args(r, s.messageID), &known); err != nil {
			return false, false, err
		}
	}
	return known, news, nil
}

// resendFailed is the mistake "what failed is sent again by itself" (mutant failed_resends).
func (t *tx) resendFailed(rid, at int64) error {
	if _, err := t.exec(`UPDATE outcome SET state = 1, rank = 0, mh = 0, next_due = ? WHERE rid = ?`, at, rid); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE segment SET done = 0, wake_at = 0 WHERE id = ?`, ledger.SegmentOf(rid))
	return err
}

// absorb applies those orphans whose messages are known now, and deletes them in the
// same transaction. It returns how many.
func (t *tx) absorb(found []waitingStatus) (n int, err error) {
	hashes := make([]any, len(found))
	for i := range found {
		hashes[i] = found[i].mh
	}
	at, err := t.locate(hashes)
	if err != nil {
		return 0, err
	}
	touched := map[campaign.RunNo]bool{}
	for _, o := range found {
		known, _, err := t.move(o, at, touched)
		if err != nil {
			return n, err
		}
		if !known {
			continue
		}
		if _, err := t.exec(`DELETE FROM orphan WHERE mh = ? AND message_id = ? AND rank = ?`, o.mh, o.messageID, int(o.rank)); err != nil {
			return n, err
		}
		n++
	}
	return n, t.touch(touched)
}

// touch remembers when a status of these runs was last applied.
func (t *tx) touch(runs map[campaign.RunNo]bool) error {
	now := ledger.Millis(time.Now())
	for no := range runs {
		if _, err := t.exec(`UPDATE run_count SET event_at = max(event_at, ?) WHERE no = ?`, now, int64(no)); err != nil {
			return err
		}
	}
	return nil
}

// Apply implements campaign.EventLedger.
func (l *Ledger) Apply(ctx context.Context, e campaign.Events) (done campaign.Applied, err error) {
	statuses := make([]orphanRow, 0, len(e.Statuses))
	hashes := make([]any, 0, len(e.Statuses))
	now := time.Now()
	for _, s := range e.Statuses {
		r, ok := ledger.RankOf(s.Status)
		if !ok || s.MessageID == "" {
			return done, fmt.Errorf("status event %q: want sent, delivered, read or failed, of a message id", s.Status)
		}
		at, received := ledger.EventTimes(s, now)
		statuses = append(statuses, orphanRow{
			waitingStatus: waitingStatus{l.key.MessageHash(s.MessageID), s.MessageID, r, ledger.Millis(at), s.Code},
			received:      ledger.Millis(received), key: s.Recipient, connection: s.Connection,
		})
		hashes = append(hashes, statuses[len(statuses)-1].mh)
	}
	rows := len(e.Statuses) + len(e.Suppressions) + len(e.Lifted) + len(e.Templates)
	if rows == 0 {
		return done, nil
	}
	err = l.submit(ctx, &op{urgency: events, rows: rows, crash: "webhook_uncommitted", run: func(t *tx) error {
		done = campaign.Applied{}
		at, err := t.locate(hashes)
		if err != nil {
			return err
		}
		touched := map[campaign.RunNo]bool{}
		for _, s := range statuses {
			known, news, err := t.move(s.waitingStatus, at, touched)
			if err != nil {
				return err
			}
			if !known {
				if news, err = t.keep(s); err != nil {
					return err
				}
			}
			switch {
			case !news:
				done.Repeated++
			case known:
				done.Matched++
			default:
				done.Orphaned++
			}
		}
		if err := t.touch(touched); err != nil {
			return err
		}
		for _, s := range e.Suppressions {
			if _, err := t.suppress(s); err != nil {
				return err
			}
		}
		for _, s := range e.Lifted {
			if err := t.lift(s); err != nil {
				return err
			}
		}
		for _, tpl := range e.Templates {
			if err := t.template(tpl); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return campaign.Applied{}, err
	}
	return done, nil
}

// orphanRow is a status with what adoption needs to know of it.
type orphanRow struct {
	waitingStatus
	received   int64
	key        int64
	connection string
}

// keep stores a status whose message nobody knows. It reports false for a repetition.
func (t *tx) keep(s orphanRow) (news bool, err error) {
	n, err := t.exec(`INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, s.mh, s.messageID, int(s.rank), s.at, s.received, s.key, s.connection, s.code)
	if err != nil || n == 1 {
		return true, err
	}
	_, err = t.exec(`UPDATE orphan SET code = CASE WHEN ?4 < at THEN ?5 WHEN ?4 = at THEN min(code, ?5) ELSE code END, at = min(at, ?4),
		key = max(key, ?6), connection = max(connection, ?7) WHERE mh = ?1 AND message_id = ?2 AND rank = ?3`,
		s.mh, s.messageID, int(s.rank), s.at, s.code, s.key, s.connection)
	return false, err
}

// template pauses the runs of a template that may not be sent any more, and makes them
// ready again when it is approved; campaign.TemplateEvent.Effect decides which.
func (t *tx) template(e campaign.TemplateEvent) error {
	switch e.Effect() {
	case campaign.TemplateResumes:
		_, err := t.exec(`UPDATE run SET state = 'ready', reason = '', detail = '', template_event = ''
			WHERE state = 'paused' AND reason = 'template' AND template_event <> ? AND template = ? AND language = ?`, ledger.EventDisabled, e.Name, e.Language)
		return err
	case campaign.TemplatePauses, campaign.TemplateEnds:
		event, detail := ledger.TemplatePause(e)
		_, err := t.exec(`UPDATE run SET state = 'paused', reason = 'template', detail = ?1, template_event = ?2
			WHERE template = ?3 AND language = ?4 AND (state IN ('ready', 'running') OR state = 'paused' AND reason = 'template' AND template_event <> ?5)`,
			detail, event, e.Name, e.Language, ledger.EventDisabled)
		return err
	}
	return nil
}
