package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"campaignd/campaign"
	"campaignd/internal/notify"
)

// destinationName matches the names of destinations; they label a metric.
var destinationName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// destinations returns the destinations of the configuration, by name.
func (c *Config) destinations() (all []notify.Destination) {
	for _, name := range slices.Sorted(maps.Keys(c.Notifications)) {
		n := c.Notifications[name]
		all = append(all, notify.Destination{Name: name, URL: n.URL, Format: n.Format, Secrets: n.Secrets, Events: n.Events})
	}
	return all
}

// checkNotifications returns the first fault of notifications, in words that contain no secret.
func (c *Config) checkNotifications() error {
	for _, d := range c.destinations() {
		if !destinationName.MatchString(d.Name) {
			return fmt.Errorf("notifications.%s: want a name of up to 32 small letters, digits, - and _", d.Name)
		}
		if err := d.Check(); err != nil {
			return fmt.Errorf("notifications.%s.%w", d.Name, err)
		}
	}
	return nil
}

// notified returns which destinations are told of a kind of event; nil if there are none.
func (c *Config) notified() func(campaign.NotificationKind) []string {
	if len(c.Notifications) == 0 {
		return nil
	}
	of := map[campaign.NotificationKind][]string{}
	for _, d := range c.destinations() {
		for _, k := range campaign.NotificationKinds {
			if d.Wants(k) {
				of[k] = append(of[k], d.Name)
			}
		}
	}
	return func(k campaign.NotificationKind) []string { return of[k] }
}

// notifier makes the sender of notifications. Without a destination it only tidies.
func (c *Config) notifier(l campaign.Ledger, log *slog.Logger) (*notify.Sender, error) {
	return notify.New(notify.Options{Ledger: l, Destinations: c.destinations(), Log: log})
}

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
