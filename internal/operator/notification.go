package operator

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"campaignd/campaign"
)

// ErrNoNotification says that the outbox has no such notification.
var ErrNoNotification = fmt.Errorf("%w: no such notification", ErrInvalid)

// Notifications lists what is in the outbox, the newest first.
func (d *Desk) Notifications(ctx context.Context, f campaign.NotificationFilter) ([]campaign.Notification, error) {
	if d.Company != "" {
		return nil, fmt.Errorf("%w: notifications are of every company", ErrForbidden)
	}
	return d.Ledger.Notifications(ctx, f)
}

// Notification finds one notification by its number.
func (d *Desk) Notification(ctx context.Context, no int64) (campaign.Notification, error) {
	found, err := d.Notifications(ctx, campaign.NotificationFilter{No: no})
	if err == nil && (no < 1 || len(found) == 0) {
		err = ErrNoNotification
	}
	if err != nil {
		return campaign.Notification{}, err
	}
	return found[0], nil
}

// SendNotification has a notification sent again, for three days from now, with the id that it has.
func (d *Desk) SendNotification(ctx context.Context, no int64) (campaign.Notification, error) {
	n, err := d.Notification(ctx, no)
	if err != nil {
		return n, err
	}
	if err := d.note(ctx, "notifications send", strconv.FormatInt(no, 10), n.Destination); err != nil {
		return n, err
	}
	now, was := time.Now().UTC(), n
	n.State, n.Attempts, n.Since, n.NextAt, n.Error = campaign.NotificationPending, 0, now, now, ""
	same, err := d.Ledger.UpdateNotification(ctx, was, n)
	if err == nil && !same {
		err = fmt.Errorf("notification %d was sent meanwhile; look at it again", no)
	}
	return n, err
}
