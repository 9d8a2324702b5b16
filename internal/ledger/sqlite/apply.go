package sqlite

import (
	"context"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
)

// messageStatus is one status of a message.
type messageStatus struct {
	mh        int64
	messageID string
	rank      ledger.Rank
	at        int64
	code      string

	connection string
}

// orphanRow is a status with what adoption needs to know about it.
type orphanRow struct {
	messageStatus
	received int64
	key      int64
	untimed  bool
	marked   int64 // the row id that its mark proves, and the attempt; 0 without a mark
	attempt  int
}

// Apply implements campaign.EventLedger.
func (l *Ledger) Apply(ctx context.Context, e campaign.Events) (done campaign.Applied, err error) {
	rows := make([]orphanRow, 0, len(e.Statuses))
	hashes := make([]any, 0, len(e.Statuses))
	now := l.clock()
	for _, s := range e.Statuses {
		r, err := ledger.StatusRank(s)
		if err != nil {
			return done, err
		}
		at, received, untimed := ledger.EventTimes(s, now)
		marked, attempt := ledger.Marked(s.Mark)
		rows = append(rows, orphanRow{
			messageStatus: messageStatus{l.key.MessageHash(s.MessageID), s.MessageID, r, ledger.Millis(at), s.Code, s.Connection},
			received:      ledger.Millis(received), key: s.Recipient, untimed: untimed,
			marked: marked, attempt: attempt,
		})
		hashes = append(hashes, rows[len(rows)-1].mh)
	}
	n := e.Len()
	if err := ledger.CheckHolds(e.Holds, e.Lifts); err != nil || n == 0 {
		return done, err
	}
	err = l.submit(ctx, &op{urgency: events, rows: n, crash: "webhook_uncommitted", run: func(t *tx) (err error) {
		if done, err = t.statuses(rows, hashes, l.key, now); err != nil {
			return err
		}
		if err := portable.StorePrices(portableTx{t}, e.Statuses, l.key.MessageHash); err != nil {
			return err
		}
		e, err := ledger.Disown(e, users{t, l.key}, t.options.Platform())
		if err != nil {
			return err
		}
		e, found, err := ledger.Attribute(e, users{t, l.key}, t.options.Platform())
		if err != nil {
			return err
		}
		now := now
		if ledger.Ahead(&e, now) {
			if now, err = t.newest(now); err != nil {
				return err
			}
		}
		ledger.Timed(&e, &found, now)
		erased, err := erasedOf(t.row, l.key, append(ledger.KeysOfEvents(&e), found.Keys()...))
		if err != nil {
			return err
		}
		waiting, err := t.storeUsers(found, l.key, erased)
		if err != nil {
			return err
		}
		done.Unattributed = waiting + found.Lost
		e = ledger.Unerased(e, erased)
		for _, s := range e.Suppressions {
			delivered, err := t.disproved(s, l.key)
			if err == nil && !delivered {
				err = t.optOut(s)
			}
			if err != nil {
				return err
			}
		}
		if err := t.carry(e.Suppressions, e.Moved); err != nil {
			return err
		}
		receipts := ledger.Receipts(e.Lifted, nil, now)
		if err := portable.FirstReceipts(portableTx{t}, receipts); err != nil {
			return err
		}
		lifted, _ := ledger.Counted(receipts, e.Lifted, nil)
		lifted = ledger.Later(lifted, e.Suppressions)
		for _, s := range lifted {
			if err := portable.Lift(portableTx{t}, s); err != nil {
				return err
			}
		}
		if err := t.wrote(e.Inbound, now); err != nil {
			return err
		}
		if err := portable.KeepReplies(portableTx{t}, &e, l.key.MessageHash); err != nil {
			return err
		}
		_, err = t.changeHolds(e.Holds, e.Lifts, now)
		return err
	}})
	if err != nil {
		return campaign.Applied{}, err
	}
	return done, nil
}

// statuses applies the statuses of messages that deliveries have, and keeps the others as orphans.
func (t *tx) statuses(rows []orphanRow, hashes []any, hash ledger.HashKey, clock time.Time) (done campaign.Applied, err error) {
	at, err := t.locate(hashes)
	if err != nil {
		return done, err
	}
	var changed changes
	var unknown []orphanRow
	for _, s := range rows {
		known, isNew, err := t.move(s.messageStatus, at, &changed)
		switch {
		case err != nil:
			return done, err
		case !known:
			unknown = append(unknown, s)
		case isNew:
			done.Matched++
		default:
			done.Repeated++
		}
	}
	keys := make([]int64, len(unknown))
	for i := range unknown {
		if err := t.keyOfMark(&unknown[i]); err != nil {
			return done, err
		}
		keys[i] = unknown[i].key
	}
	erased, err := erasedOf(t.row, hash, keys)
	if err != nil {
		return done, err
	}
	for _, s := range unknown {
		isNew := false
		if !erased.Over(s.key) {
			if isNew, err = t.keep(s); err == nil && isNew && s.rank >= ledger.RankDelivered {
				err = t.reachable(sqlOrphanReachedAnyway, s.mh, s.messageID)
			}
			if err != nil {
				return done, err
			}
		}
		if isNew {
			done.Orphaned++
		} else {
			done.Repeated++
		}
	}
	return done, t.touch(changed, clock)
}

// changes is what statuses changed: the runs that have one of the deliveries, and the failures.
type changes struct {
	runs     map[campaign.RunNo]bool
	failures ledger.Failures
}

// ridsByHash maps a message hash to the deliveries that have it: nearly always one.
type ridsByHash map[int64][]int64

// locateWidth is how many hashes one statement looks for.
const locateWidth = 32

const sqlLocateOne = `SELECT mh, rid FROM outcome WHERE mh <> 0 AND mh = ?`

var sqlLocateMany = `SELECT mh, rid FROM outcome WHERE mh <> 0 AND mh IN (?` + strings.Repeat(", ?", locateWidth-1) + `)`

// locate finds the deliveries of these hashes.
func (t *tx) locate(hashes []any) (ridsByHash, error) {
	found := make(ridsByHash, len(hashes))
	add := func(scan scanFunc) error {
		var mh, rid int64
		err := scan(&mh, &rid)
		if !slices.Contains(found[mh], rid) {
			found[mh] = append(found[mh], rid)
		}
		return err
	}
	for len(hashes) > 0 {
		n, query := 1, sqlLocateOne
		if len(hashes) >= locateWidth {
			n, query = locateWidth, sqlLocateMany
		}
		if err := t.each(query, hashes[:n], add); err != nil {
			return nil, err
		}
		hashes = hashes[n:]
	}
	return found, nil
}

// sqlMove has, by rank, the statement that moves a delivery's status forward: times to the
// earliest, rank to the highest, and the code of a failure with its earliest time. It changes a row
// only if the event tells something new, so events commute and may repeat.
//
// Each statement names one row by its key. A search by the hash of the message would do the same,
// but SQLite then expects several rows and copies each page first; with RETURNING it builds a
// temporary table. Measured, each of the two doubles the cost. The row of an erased number has lost
// its message id, and keeps the hash.
var sqlMove = [...]string{
	ledger.RankSent: `UPDATE outcome SET rank = max(rank, 1 /* sent */), sent_at = ?3
		WHERE rid = ?1 AND message_id IN (?2, 'erased') AND (sent_at = 0 OR sent_at > ?3) AND ?4 = ''`,
	ledger.RankDelivered: `UPDATE outcome SET rank = max(rank, 3 /* delivered */), delivered_at = ?3
		WHERE rid = ?1 AND message_id IN (?2, 'erased') AND (delivered_at = 0 OR delivered_at > ?3) AND ?4 = ''`,
	ledger.RankRead: `UPDATE outcome SET rank = max(rank, 4 /* read */), read_at = ?3
		WHERE rid = ?1 AND message_id IN (?2, 'erased') AND (read_at = 0 OR read_at > ?3) AND ?4 = ''`,
	ledger.RankFailed: `UPDATE outcome SET rank = max(rank, 2 /* failed */), failed_at = ?3, fail_code = ?4
		WHERE rid = ?1 AND message_id IN (?2, 'erased')
		AND (failed_at = 0 OR failed_at > ?3 OR failed_at = ?3 AND fail_code > ?4)`,
}

// sqlMoveUnfailed is sqlMove for rows without a failure, which are nearly all. A row that it leaves
// may be that of a message that failed and is delivered now.
var sqlMoveUnfailed = [...]string{
	ledger.RankDelivered: sqlMove[ledger.RankDelivered] + ` AND failed_at = 0`,
	ledger.RankRead:      sqlMove[ledger.RankRead] + ` AND failed_at = 0`,
}

const sqlHasMessageID = `SELECT message_id IN (?2, 'erased') FROM outcome WHERE rid = ?1`

// move applies one status to the deliveries of its hash and adds what it changed to changed. All
// rows of a repeated message id move. known is false when no delivery has the message id, isNew is
// false when the event told nothing new.
func (t *tx) move(s messageStatus, at ridsByHash, changed *changes) (known, isNew bool, err error) {
	query, first := sqlMove[s.rank], ""
	if s.rank >= ledger.RankDelivered {
		first = sqlMoveUnfailed[s.rank]
	}
	if s.rank != ledger.RankFailed {
		s.code = ""
	}
	rids, err := t.toldOf(at[s.mh], s.connection)
	if err != nil {
		return false, false, err
	}
	for _, rid := range rids {
		n, err := int64(0), error(nil)
		if first != "" {
			n, err = t.exec(first, rid, s.messageID, s.at, s.code)
		}
		if err == nil && n == 0 {
			if n, err = t.exec(query, rid, s.messageID, s.at, s.code); err == nil && n > 0 && s.rank != ledger.RankSent {
				err = t.reachable(sqlReachedAnyway, rid)
			}
		}
		if err != nil {
			return false, false, err
		}
		if n > 0 {
			t.recount(rid)
			if changed.runs == nil {
				changed.runs = map[campaign.RunNo]bool{}
			}
			changed.runs[ledger.RunOf(rid)] = true
			known, isNew = true, true
			if s.rank == ledger.RankFailed {
				if err := t.failed(rid, s, changed); err != nil {
					return false, false, err
				}
			}
		}
	}
	for _, rid := range rids {
		if known {
			break
		}
		if err := t.row(sqlHasMessageID, args(rid, s.messageID), &known); err != nil {
			return false, false, err
		}
	}
	return known, isNew, nil
}

const sqlSentOver = `SELECT coalesce(nullif(o.connection, ''), s.connection, '') FROM outcome o JOIN segment s ON s.id = ?2
	WHERE o.rid = ?1`

// toldOf returns the deliveries that an event of the connection may be about (ledger.Tells).
func (t *tx) toldOf(rids []int64, connection string) (told []int64, err error) {
	platform := t.options.Platform()
	if len(platform) == 0 {
		return rids, nil
	}
	for _, rid := range rids {
		var sent string
		if err := t.row(sqlSentOver, args(rid, ledger.SegmentOf(rid)), &sent); err != nil {
			return nil, err
		}
		if ledger.Tells(platform, connection, sent) {
			told = append(told, rid)
		}
	}
	return told, nil
}

const sqlAcceptedAt = `SELECT result_at FROM outcome WHERE rid = ?`

// failed adds a failed status to changed if its code begins a hold.
func (t *tx) failed(rid int64, s messageStatus, changed *changes) error {
	if !ledger.BeginsHold(s.code) {
		return nil
	}
	var accepted int64
	if err := t.row(sqlAcceptedAt, args(rid), &accepted); err != nil {
		return err
	}
	changed.failures.Add(rid, s.code, accepted, s.at)
	return nil
}

const sqlTouch = `UPDATE run_count SET event_at = max(event_at, ?) WHERE no = ?`

// touch writes that statuses of the runs were applied now, and begins the holds that the failed
// ones tell of.
func (t *tx) touch(changed changes, clock time.Time) error {
	now := ledger.Millis(time.Now())
	for no := range changed.runs {
		if _, err := t.exec(sqlTouch, now, int64(no)); err != nil {
			return err
		}
	}
	hs, err := t.failureHolds(changed.failures)
	if err == nil {
		_, err = t.changeHolds(hs, nil, clock)
	}
	return err
}
