package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// A refusal that proves that nothing was sent deletes the delivery's row of reach, and its contact.
// The place is free when the recipient has no other row. The flag says that an earlier attempt may
// have been sent.
const (
	sqlAnyCounted = `SELECT EXISTS (SELECT 1 FROM reach), EXISTS (SELECT 1 FROM contact)`
	sqlUnsentKey  = `SELECT d.key FROM delivery d CROSS JOIN outcome o ON o.rid = d.rid
		WHERE d.rid = ? AND o.state IN (1, 6) /* not sent */ AND o.flags & 2 /* may be a duplicate */ = 0`
	sqlReturnPlace = `DELETE FROM reach WHERE key = ? AND rid = ? RETURNING portfolio`
	sqlOnePlace    = `UPDATE portfolio SET taken = max(0, taken - 1) WHERE id = ?1 AND NOT EXISTS (
		SELECT 1 FROM reach WHERE key = ?2 AND portfolio = ?1)`
	sqlUncontact = `DELETE FROM contact WHERE key = ? AND rid = ?`
)

// giveBack returns what deliveries took of the limits that count people, if it is certain that they
// were not sent.
func (t *tx) giveBack(rids ...int64) error {
	if len(rids) == 0 {
		return nil
	}
	var places, contacts bool
	if err := t.row(sqlAnyCounted, nil, &places, &contacts); err != nil || !places && !contacts {
		return err
	}
	for _, rid := range rids {
		var key int64
		err := t.row(sqlUnsentKey, args(rid), &key)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		var of []string
		if places {
			if err := t.each(sqlReturnPlace, args(key, rid), func(scan scanFunc) error {
				var portfolio string
				err := scan(&portfolio)
				of = append(of, portfolio)
				return err
			}); err != nil {
				return err
			}
		}
		for _, portfolio := range of {
			if _, err := t.exec(sqlOnePlace, portfolio, key); err != nil {
				return err
			}
		}
		if contacts {
			if _, err := t.exec(sqlUncontact, key, rid); err != nil {
				return err
			}
		}
	}
	return nil
}

const sqlWrote = `INSERT INTO inbound (key, connection, at, own) VALUES (?1, ?2, ?3, ?4)
	ON CONFLICT (key, connection) DO UPDATE SET at = ?3, own = ?4 WHERE ?3 > at AND ?4 > own`

// wrote stores when recipients wrote, whose messages came at now.
func (t *tx) wrote(all []campaign.Inbound, now time.Time) error {
	for _, w := range ledger.Windows(all, now) {
		if _, err := t.exec(sqlWrote, w.Key, w.Connection, w.Began, w.Own); err != nil {
			return err
		}
	}
	return nil
}

const sqlReachedSince = `SELECT min(r.at), max(r.at), count(*) FROM reach r WHERE r.portfolio = ? AND r.at > ? AND ` + sqlLastReach + `
	GROUP BY r.at / 3600000 /* an hour */ ORDER BY 1`

// Reached implements campaign.SuppressionLedger.
func (l *Ledger) Reached(ctx context.Context, portfolio string, since time.Time) (all []campaign.Reached, err error) {
	err = l.read().each(ctx, sqlReachedSince, args(portfolio, ledger.Millis(since)), list(&all, ledger.ScanReached))
	return all, err
}

var sqlCappedKeys = `SELECT key, count(*) FROM contact WHERE key IN ` + values(1, keysWidth) +
	` AND key <> 0 AND capped AND at > ? GROUP BY key`

// CappedKeys implements campaign.LimitLedger.
func (l *Ledger) CappedKeys(ctx context.Context, keys []int64, limit campaign.FrequencyLimit, now time.Time) (map[int64]bool, error) {
	var all []ledger.Messages
	for keys := recipients.Spelled(keys); len(keys) > 0; {
		var a []any
		a, keys = nextKeys(keys)
		a = append(a, ledger.Millis(now.Add(-time.Duration(limit.Per))))
		if err := l.read().each(ctx, sqlCappedKeys, a, list(&all, ledger.ScanMessages)); err != nil {
			return nil, err
		}
	}
	return ledger.Capped(all, limit.Messages), nil
}
