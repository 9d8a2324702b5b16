package daemon

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"campaignd/campaign"
)

// notificationCollector counts the outbox at each scrape.
type notificationCollector struct{ ledger campaign.NotificationLedger }

var (
	descNotifications = desc("campaignd_notifications", "Notifications in the outbox.", "destination", "state")
	descOldest        = desc("campaignd_notification_oldest_pending_seconds",
		"Seconds since the event of the oldest notification that is not sent yet.", "destination")
)

// Describe implements prometheus.Collector.
func (c *notificationCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- descNotifications
	ch <- descOldest
}

// Collect implements prometheus.Collector. While the ledger does not answer there is no value.
func (c *notificationCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	all, err := c.ledger.NotificationBacklogs(ctx)
	if err != nil {
		return
	}
	oldest := map[string]float64{}
	for _, b := range all {
		oldest[b.Destination] += 0 // also of a destination for which nothing is pending
		if b.State == campaign.NotificationPending {
			oldest[b.Destination] = max(0, time.Since(b.Oldest)).Seconds()
		}
		ch <- prometheus.MustNewConstMetric(descNotifications, prometheus.GaugeValue, float64(b.N), b.Destination, string(b.State))
	}
	for destination, age := range oldest {
		ch <- prometheus.MustNewConstMetric(descOldest, prometheus.GaugeValue, age, destination)
	}
}
