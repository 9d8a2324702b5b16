package daemon

import (
	"campaignd/campaign"
	"campaignd/internal/schedule"
)

var descFirings = counter("campaignd_firings_total", "Firings of schedules by their final outcome: launched, skipped, missed or failed.",
	"outcome")

// firingMetrics reads the counts of the schedule.
func firingMetrics(s *schedule.Scheduler) collector {
	final := []campaign.FiringOutcome{campaign.FiringLaunched, campaign.FiringSkipped, campaign.FiringMissed, campaign.FiringFailed}
	return func(put emit) {
		for _, o := range final {
			put(descFirings, float64(s.Fired(o)), string(o))
		}
	}
}
