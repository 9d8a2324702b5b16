package daemon

import (
	"context"
	"time"

	"campaignd/campaign"
)

var (
	descNotifications = gauge("campaignd_notifications", "Notifications in the outbox.", "destination", "state")
	descOldest        = gauge("campaignd_notification_oldest_pending_seconds",
		"Seconds since the event of the oldest notification that is not sent yet.", "destination")
)

// notificationMetrics counts the outbox. While the ledger does not answer there is no value.
func notificationMetrics(l campaign.NotificationLedger) collector {
	return func(put emit) {
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		all, err := l.NotificationBacklogs(ctx)
		if err != nil {
			return
		}
		oldest := map[string]float64{}
		for _, b := range all {
			oldest[b.Destination] += 0 // also of a destination for which nothing is pending
			if b.State == campaign.NotificationPending {
				oldest[b.Destination] = max(0, time.Since(b.Oldest)).Seconds()
			}
			put(descNotifications, float64(b.N), b.Destination, string(b.State))
		}
		for destination, age := range oldest {
			put(descOldest, age, destination)
		}
	}
}
