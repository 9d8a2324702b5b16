package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/sentence"
)

const sqlNotify = `INSERT INTO notification (destination, kind, run, campaign, subject, reason, detail, at, state, since, next_at)
	VALUES ($1, $2, $3, coalesce((SELECT campaign FROM run WHERE no = $3), $4), $5, $6, $7, $8, $9, $10, $11)`

// Notification is the statement that adds a notification to the outbox, with its arguments.
func Notification(n *campaign.Notification) (query string, args []any) {
	return sqlNotify, []any{n.Destination, string(n.Kind), int64(n.Run), n.Campaign, n.Subject, n.Reason, n.Detail, ledger.Millis(n.At),
		string(n.State), ledger.Millis(n.Since), ledger.Millis(n.NextAt)}
}

// Notify adds notifications to the outbox.
func Notify(t Tx, all []campaign.Notification) error {
	for i := range all {
		query, args := Notification(&all[i])
		if _, err := t.Exec(query, args...); err != nil {
			return err
		}
	}
	return nil
}

const sqlNotifications = `SELECT no, id, destination, kind, run, campaign, subject, reason, detail, at, state, attempts, since, next_at,
	error, body FROM notification`

// Notifications implements campaign.NotificationLedger.
func (l *Ledger) Notifications(ctx context.Context, f campaign.NotificationFilter) ([]campaign.Notification, error) {
	clause, args := ledger.NotificationClause(f)
	return list(ctx, l.db, Sending, ledger.ScanNotification, sqlNotifications+clause, args...)
}

const (
	sqlUpdateNotification = `UPDATE notification SET state = $1, attempts = $2, since = $3, next_at = $4, error = $5, body = $6
		WHERE no = $7 AND state = $8 AND attempts = $9 AND next_at = $10`
	sqlTidyNotifications = `DELETE FROM notification WHERE state IN ('sent', 'dead') AND since < $1`
)

// UpdateNotification implements campaign.NotificationLedger.
func (l *Ledger) UpdateNotification(ctx context.Context, was, is campaign.Notification) (same bool, err error) {
	n, err := l.exec(ctx, Sending, sqlUpdateNotification, string(is.State), int64(is.Attempts), ledger.Millis(is.Since),
		ledger.Millis(is.NextAt), sentence.Clip(is.Error, campaign.MaxDetail), is.Body, was.No, string(was.State),
		int64(was.Attempts), ledger.Millis(was.NextAt))
	return n > 0 && err == nil, err
}

// TidyNotifications implements campaign.NotificationLedger.
func (l *Ledger) TidyNotifications(ctx context.Context, before time.Time) (removed int64, err error) {
	return l.exec(ctx, Sending, sqlTidyNotifications, ledger.Millis(before))
}

const sqlNotificationBacklogs = `SELECT destination, state, count(*), min(at) FROM notification GROUP BY destination, state
	ORDER BY destination, state`

// NotificationBacklogs implements campaign.NotificationLedger.
func (l *Ledger) NotificationBacklogs(ctx context.Context) ([]campaign.NotificationBacklog, error) {
	return list(ctx, l.db, Sending, ledger.ScanNotificationBacklog, sqlNotificationBacklogs)
}
