package daemon

import (
	"time"

	"campaignd/campaign"
	"campaignd/internal/numbers"
)

var (
	descAllowance = gauge("campaignd_allowance_messages", "Messages that the plan has in this month.", "company")
	descSpent     = gauge("campaignd_allowance_used",
		"Messages of this month that were accepted or may have been; counted every 5 minutes.", "company")
	descPlaces = gauge("campaignd_ramp_messages", "Messages that the number may send on this day of its warm-up.", "connection")
	descDay    = gauge("campaignd_ramp_used",
		"Messages of this day that were accepted or may have been; counted every 5 minutes.", "connection")
)

// quotaMetrics reads how much of the quotas is used.
func quotaMetrics(known func(now time.Time) []numbers.QuotaUse) collector {
	return func(put emit) {
		for _, u := range known(time.Now()) {
			limit, used := descAllowance, descSpent
			if u.By == campaign.ByRamp {
				limit, used = descPlaces, descDay
			}
			put(limit, float64(u.Limit), u.Owner)
			put(used, float64(u.Used), u.Owner)
		}
	}
}
