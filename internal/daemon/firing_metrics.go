package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"campaignd/campaign"
	"campaignd/internal/schedule"
)

// firingCollector reads the counts of the schedule at each scrape.
type firingCollector struct{ schedule *schedule.Scheduler }

var descFirings = desc("campaignd_firings_total", "Firings of schedules by their final outcome: launched, skipped, missed or failed.",
	"outcome")

// Describe implements prometheus.Collector.
func (c *firingCollector) Describe(ch chan<- *prometheus.Desc) { ch <- descFirings }

// Collect implements prometheus.Collector.
func (c *firingCollector) Collect(ch chan<- prometheus.Metric) {
	for _, o := range []campaign.FiringOutcome{campaign.FiringLaunched, campaign.FiringSkipped, campaign.FiringMissed, campaign.FiringFailed} {
		ch <- prometheus.MustNewConstMetric(descFirings, prometheus.CounterValue, float64(c.schedule.Fired(o)), string(o))
	}
}
