package operator

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// Notifications lists what is in the outbox, the newest first: at most limit (1 to 1000), in one
// state; "": in any.
func (d *Session) Notifications(ctx context.Context, state campaign.NotificationState, limit int) ([]resource.Notification, error) {
	f := campaign.NotificationFilter{Limit: limit}
	switch state {
	case "":
	case campaign.NotificationWaiting, campaign.NotificationPending, campaign.NotificationSent, campaign.NotificationDead:
		f.States = []campaign.NotificationState{state}
	default:
		return nil, invalid("state %q: want waiting, pending, sent or dead", state)
	}
	if limit < 1 || limit > mostPage {
		return nil, invalid("limit %d: want 1 to %d", limit, mostPage)
	}
	stored, err := d.notifications(ctx, f)
	all := make([]resource.Notification, len(stored))
	for i := range stored {
		all[i] = notificationFacts(stored[i])
	}
	return all, err
}

func (d *Session) notifications(ctx context.Context, f campaign.NotificationFilter) ([]campaign.Notification, error) {
	if d.Company != "" {
		return nil, fmt.Errorf("%w: notifications are of every company", ErrForbidden)
	}
	return d.Ledger.Notifications(ctx, f)
}

func (d *Session) notification(ctx context.Context, no int64) (campaign.Notification, error) {
	found, err := d.notifications(ctx, campaign.NotificationFilter{No: no})
	if err == nil && (no < 1 || len(found) == 0) {
		err = fmt.Errorf("%w: no notification has the number %d", ErrAbsent, no)
	}
	if err != nil {
		return campaign.Notification{}, err
	}
	return found[0], nil
}

// Notification finds one notification by its number. The error is ErrAbsent if there is none.
func (d *Session) Notification(ctx context.Context, no int64) (resource.Notification, error) {
	n, err := d.notification(ctx, no)
	return notificationFacts(n), err
}

func notificationFacts(n campaign.Notification) resource.Notification {
	f := resource.Notification{No: n.No, ID: n.ID, Destination: n.Destination, Kind: string(n.Kind), Campaign: n.Campaign, Subject: n.Subject,
		Reason: n.Reason, Detail: n.Detail, At: n.At, State: n.State, Attempts: n.Attempts, Error: n.Error, Body: n.Body}
	if n.Run != 0 {
		f.Run = campaign.Run{No: n.Run, Campaign: n.Campaign}.ID()
	}
	if n.State == campaign.NotificationPending || n.State == campaign.NotificationWaiting {
		f.NextAt = n.NextAt
	}
	return f
}

// SendNotification makes a notification due again, for three days from now. It keeps its id.
func (d *Session) SendNotification(ctx context.Context, no int64) (resource.Notification, error) {
	n, err := d.notification(ctx, no)
	if err != nil {
		return resource.Notification{}, err
	}
	if err := d.note(ctx, "notifications send", strconv.FormatInt(no, 10), n.Destination); err != nil {
		return resource.Notification{}, err
	}
	now, was := time.Now().UTC(), n
	n.State, n.Attempts, n.Since, n.NextAt, n.Error = campaign.NotificationPending, 0, now, now, ""
	same, err := d.Ledger.UpdateNotification(ctx, was, n)
	if err == nil && !same {
		err = &fault{fmt.Sprintf("notification %d was sent meanwhile; look at it again", no), campaign.ErrNotNow}
	}
	return notificationFacts(n), err
}
