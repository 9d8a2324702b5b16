package postgres

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/spelling"
)

const sqlNotify = `INSERT INTO notification (destination, kind, run, campaign, subject, reason, detail, at, state, since, next_at)
	VALUES ($1, $2, $3, coalesce((SELECT campaign FROM run WHERE no = $3), $4), $5, $6, $7, $8, $9, $10, $11)`

// notify adds notifications to the outbox.
func notify(all []campaign.Notification) (qs []*query) {
	for _, n := range all {
		qs = append(qs, stmt(nil, sqlNotify, n.Destination, string(n.Kind), int64(n.Run), plainText(n.Campaign), plainText(n.Subject),
			plainText(n.Reason), plainText(n.Detail), ledger.Millis(n.At), string(n.State), ledger.Millis(n.Since), ledger.Millis(n.NextAt)))
	}
	return qs
}

// startDestinations are those that are told when a run starts.
func (t *tx) startDestinations() []string {
	if t.options.Notify == nil {
		return []string{}
	}
	return ledger.NonNil(t.options.Notify(campaign.NotifyRunStarted))
}

const sqlNotifications = `SELECT no, id, destination, kind, run, campaign, subject, reason, detail, at, state, attempts, since, next_at,
	error, body FROM notification`

// Notifications implements campaign.NotificationLedger.
func (l *Ledger) Notifications(ctx context.Context, f campaign.NotificationFilter) (all []campaign.Notification, err error) {
	clause, args := ledger.NotificationClause(f, "$")
	err = l.read(ctx, l.sender, list(&all, ledger.ScanNotification, sqlNotifications+clause, args...))
	return all, err
}

const (
	sqlUpdateNotification = `UPDATE notification SET state = $1, attempts = $2, since = $3, next_at = $4, error = $5, body = $6
		WHERE no = $7 AND state = $8 AND attempts = $9 AND next_at = $10`
	sqlTidyNotifications = `DELETE FROM notification WHERE state IN ('sent', 'dead') AND since < $1`
)

// UpdateNotification implements campaign.NotificationLedger.
func (l *Ledger) UpdateNotification(ctx context.Context, was, is campaign.Notification) (same bool, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		var n int64
		err := t.do(stmt(&n, sqlUpdateNotification, string(is.State), int64(is.Attempts), ledger.Millis(is.Since),
			ledger.Millis(is.NextAt), plainText(spelling.Clip(is.Error, campaign.MaxDetail)), is.Body, was.No, string(was.State),
			int64(was.Attempts), ledger.Millis(was.NextAt)))
		same = n > 0
		return err
	})
	return same && err == nil, err
}

// TidyNotifications implements campaign.NotificationLedger.
func (l *Ledger) TidyNotifications(ctx context.Context, before time.Time) (removed int64, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		return t.do(stmt(&removed, sqlTidyNotifications, ledger.Millis(before)))
	})
	return removed, err
}

const sqlNotificationBacklogs = `SELECT destination, state, count(*), min(at) FROM notification GROUP BY destination, state
	ORDER BY destination, state`

// NotificationBacklogs implements campaign.NotificationLedger.
func (l *Ledger) NotificationBacklogs(ctx context.Context) (all []campaign.NotificationBacklog, err error) {
	err = l.read(ctx, l.sender, list(&all, ledger.ScanNotificationBacklog, sqlNotificationBacklogs))
	return all, err
}
