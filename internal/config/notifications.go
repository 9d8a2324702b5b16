package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/notify"
)

// destinationName matches the names of destinations; they label a metric.
var destinationName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// Destinations returns the destinations of the configuration, by name.
func (c *Config) Destinations() (all []notify.Destination) {
	for _, name := range slices.Sorted(maps.Keys(c.Notifications)) {
		n := c.Notifications[name]
		all = append(all, notify.Destination{Name: name, URL: n.URL, Format: n.Format, Secrets: n.Secrets, Events: n.Events})
	}
	return all
}

// checkNotifications returns the first fault of notifications, in words that contain no secret.
func (c *Config) checkNotifications() error {
	for _, d := range c.Destinations() {
		if !destinationName.MatchString(d.Name) {
			return fmt.Errorf("notifications.%s: want a name of up to 32 small letters, digits, - and _", d.Name)
		}
		if err := d.Check(); err != nil {
			return fmt.Errorf("notifications.%s.%w", d.Name, err)
		}
	}
	return nil
}

// Notified returns which destinations are told of a kind of event; nil if there are none.
func (c *Config) Notified() func(campaign.NotificationKind) []string {
	if len(c.Notifications) == 0 {
		return nil
	}
	of := map[campaign.NotificationKind][]string{}
	for _, d := range c.Destinations() {
		for _, k := range campaign.NotificationKinds {
			if d.Wants(k) {
				of[k] = append(of[k], d.Name)
			}
		}
	}
	return func(k campaign.NotificationKind) []string { return of[k] }
}
