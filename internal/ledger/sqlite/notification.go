package sqlite

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/spelling"
)

const (
	sqlNotify = `INSERT INTO notification (destination, kind, run, campaign, subject, reason, detail, at, state, since, next_at)
		VALUES (?1, ?2, ?3, coalesce((SELECT campaign FROM run WHERE no = ?3), ?4), ?5, ?6, ?7, ?8, ?9, ?10, ?11)`
	sqlStartedAt = `SELECT started_at = 0 FROM run WHERE no = ?`
)

// notify adds notifications to the outbox.
func (t *tx) notify(all []campaign.Notification) error {
	for _, n := range all {
		if _, err := t.exec(sqlNotify, n.Destination, string(n.Kind), int64(n.Run), n.Campaign, n.Subject, n.Reason, n.Detail,
			ledger.Millis(n.At), string(n.State), ledger.Millis(n.Since), ledger.Millis(n.NextAt)); err != nil {
			return err
		}
	}
	return nil
}

// notifyState adds the notifications of a run that changes to a state. It is called before the
// change.
func (t *tx) notifyState(no campaign.RunNo, to campaign.State, reason campaign.PauseReason, detail string, now time.Time) error {
	if t.options.Notify == nil {
		return nil
	}
	first := false
	if err := t.row(sqlStartedAt, args(int64(no)), &first); err != nil {
		return err
	}
	return t.notify(t.options.NotifyState(no, to, reason, detail, first, now))
}

const sqlNotifications = `SELECT no, id, destination, kind, run, campaign, subject, reason, detail, at, state, attempts, since, next_at,
	error, body FROM notification`

// Notifications implements campaign.NotificationLedger.
func (l *Ledger) Notifications(ctx context.Context, f campaign.NotificationFilter) (all []campaign.Notification, err error) {
	clause, args := ledger.NotificationClause(f, "?")
	err = l.read().each(ctx, sqlNotifications+clause, args, list(&all, ledger.ScanNotification))
	return all, err
}

const (
	sqlUpdateNotification = `UPDATE notification SET state = ?, attempts = ?, since = ?, next_at = ?, error = ?, body = ?
		WHERE no = ? AND state = ? AND attempts = ? AND next_at = ?`
	sqlTidyNotifications = `DELETE FROM notification WHERE state IN ('sent', 'dead') AND since < ?`
)

// UpdateNotification implements campaign.NotificationLedger.
func (l *Ledger) UpdateNotification(ctx context.Context, was, is campaign.Notification) (same bool, err error) {
	err = l.write(ctx, results, func(t *tx) error {
		n, err := t.exec(sqlUpdateNotification, string(is.State), is.Attempts, ledger.Millis(is.Since), ledger.Millis(is.NextAt),
			spelling.Clip(is.Error, campaign.MaxDetail), is.Body, was.No, string(was.State), was.Attempts, ledger.Millis(was.NextAt))
		same = n > 0
		return err
	})
	return same && err == nil, err
}

// TidyNotifications implements campaign.NotificationLedger.
func (l *Ledger) TidyNotifications(ctx context.Context, before time.Time) (removed int64, err error) {
	err = l.write(ctx, results, func(t *tx) (err error) {
		removed, err = t.exec(sqlTidyNotifications, ledger.Millis(before))
		return err
	})
	return removed, err
}

const sqlNotificationBacklogs = `SELECT destination, state, count(*), min(at) FROM notification GROUP BY destination, state
	ORDER BY destination, state`

// NotificationBacklogs implements campaign.NotificationLedger.
func (l *Ledger) NotificationBacklogs(ctx context.Context) (all []campaign.NotificationBacklog, err error) {
	err = l.read().each(ctx, sqlNotificationBacklogs, nil, list(&all, ledger.ScanNotificationBacklog))
	return all, err
}
