package daemon

import (
	"time"

	"campaignd/campaign"
	"campaignd/internal/numbers"

	"github.com/prometheus/client_golang/prometheus"
)

// quotaCollector tells of the quotas at each scrape.
type quotaCollector struct {
	known func(now time.Time) []numbers.QuotaUse
}

var (
	descAllowance = desc("campaignd_allowance_messages", "Messages that the plan has in this month.", "company")
	descSpent     = desc("campaignd_allowance_used",
		"Messages of this month that were accepted or may have been; counted every 5 minutes.", "company")
	descPlaces = desc("campaignd_ramp_messages", "Messages that the number may send on this day of its warm-up.", "connection")
	descDay    = desc("campaignd_ramp_used",
		"Messages of this day that were accepted or may have been; counted every 5 minutes.", "connection")
)

// Describe implements prometheus.Collector.
func (c *quotaCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descAllowance, descSpent, descPlaces, descDay} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *quotaCollector) Collect(ch chan<- prometheus.Metric) {
	for _, u := range c.known(time.Now()) {
		limit, used := descAllowance, descSpent
		if u.By == campaign.ByRamp {
			limit, used = descPlaces, descDay
		}
		ch <- prometheus.MustNewConstMetric(limit, prometheus.GaugeValue, float64(u.Limit), u.Owner)
		ch <- prometheus.MustNewConstMetric(used, prometheus.GaugeValue, float64(u.Used), u.Owner)
	}
}
