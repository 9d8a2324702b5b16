package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlEndOldSessions = `DELETE FROM browser_session WHERE created_at < $1`
	sqlAddSession     = `INSERT INTO browser_session (hash, operator_key, who, once, created_at, seen_at)
	VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (hash) DO NOTHING`
)

// AddSession implements campaign.AccessLedger.
func (l *Ledger) AddSession(ctx context.Context, s campaign.BrowserSession, ended time.Time) error {
	once := int64(0)
	if s.Once {
		once = 1
	}
	return l.db.Change(ctx, Sending, func(t Tx) error {
		if _, err := t.Exec(sqlEndOldSessions, ledger.Millis(ended)); err != nil {
			return err
		}
		_, err := t.Exec(sqlAddSession, s.Hash, s.Key, s.By, once, ledger.Millis(s.CreatedAt), ledger.Millis(s.SeenAt))
		return err
	})
}

const (
	sqlSelectSession = `SELECT hash, operator_key, who, once, created_at, seen_at FROM browser_session `
	sqlSession       = sqlSelectSession + `WHERE hash = $1`
	sqlSessions      = sqlSelectSession + `ORDER BY created_at DESC, hash`
)

// Session implements campaign.AccessLedger.
func (l *Ledger) Session(ctx context.Context, hash string) (campaign.BrowserSession, error) {
	all, err := list(ctx, l.db, Sending, ledger.ScanSession, sqlSession, hash)
	return ledger.Only(all, err, campaign.ErrNoSession)
}

// Sessions implements campaign.AccessLedger.
func (l *Ledger) Sessions(ctx context.Context) ([]campaign.BrowserSession, error) {
	return list(ctx, l.db, Sending, ledger.ScanSession, sqlSessions)
}

const sqlSeeSession = `UPDATE browser_session SET seen_at = greatest(seen_at, $1) WHERE hash = $2`

// SeeSession implements campaign.AccessLedger.
func (l *Ledger) SeeSession(ctx context.Context, hash string, at time.Time) error {
	_, err := l.exec(ctx, Sending, sqlSeeSession, ledger.Millis(at), hash)
	return err
}

const sqlTakeSession = `DELETE FROM browser_session WHERE hash = $1`

// TakeSession implements campaign.AccessLedger.
func (l *Ledger) TakeSession(ctx context.Context, hash string) (s campaign.BrowserSession, err error) {
	err = l.db.Change(ctx, Sending, func(t Tx) error {
		var found []campaign.BrowserSession
		err := t.Lock(add(&found, ledger.ScanSession), sqlSession, hash)
		if s, err = ledger.Only(found, err, campaign.ErrNoSession); err != nil {
			return err
		}
		_, err = t.Exec(sqlTakeSession, hash)
		return err
	})
	if err != nil {
		return campaign.BrowserSession{}, err
	}
	return s, nil
}
