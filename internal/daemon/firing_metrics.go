package daemon

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"campaignd/campaign"
)

// firingCounts counts the final outcomes of the firings that this process recorded.
type firingCounts struct {
	mu sync.Mutex
	n  map[campaign.FiringOutcome]int64
}

func (c *firingCounts) add(o campaign.FiringOutcome, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[campaign.FiringOutcome]int64{}
	}
	c.n[o] += n
}

func (c *firingCounts) of(o campaign.FiringOutcome) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[o]
}

// firingCollector reads the counts at each scrape.
type firingCollector struct{ counts *firingCounts }

var descFirings = desc("campaignd_firings_total", "Firings of schedules by their final outcome: launched, skipped, missed or failed.",
	"outcome")

// Describe implements prometheus.Collector.
func (c *firingCollector) Describe(ch chan<- *prometheus.Desc) { ch <- descFirings }

// Collect implements prometheus.Collector.
func (c *firingCollector) Collect(ch chan<- prometheus.Metric) {
	for _, o := range []campaign.FiringOutcome{campaign.FiringLaunched, campaign.FiringSkipped, campaign.FiringMissed, campaign.FiringFailed} {
		ch <- prometheus.MustNewConstMetric(descFirings, prometheus.CounterValue, float64(c.counts.of(o)), string(o))
	}
}
