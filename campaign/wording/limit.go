package wording

import "campaignd/campaign"

// Limit is one limit, and its meaning for people.
type Limit struct {
	By      campaign.LimitedBy
	Meaning string
}

// Limits returns every limit. docs/glossary.md and the OpenAPI document have this list.
func Limits() []Limit {
	return []Limit{
		{campaign.ByNone, "nothing: there is nothing to send, or nobody sends it"},
		{campaign.ByThroughput, "the pace of its numbers"},
		{campaign.ByRunRate, "the run's own rate"},
		{campaign.ByShare, "other runs of the number come first"},
		{campaign.ByTier, "the tier: no place is free"},
		{campaign.ByAllowance, "the plan has no message left this month"},
		{campaign.ByRamp, "the ramp of the number has no message left today"},
		{campaign.ByWindow, "the sending window is closed"},
		{campaign.ByHold, "a hold"},
		{campaign.ByPause, "a person: a pause, an approval, or the verdict on a canary"},
		{campaign.ByInFlight, "as many requests as are allowed wait for their answers"},
		{campaign.ByDoubt, "rows in doubt, which wait for a webhook or the end of their window"},
		{campaign.ByLedger, "the ledger does not answer"},
		{campaign.ByLimiter, "the limiter does not answer, or the pace or the tier of the number is not known"},
		{campaign.ByUnreachable, "the service cannot be reached"},
		{campaign.ByStopped, "its sender has ended in order"},
		{campaign.ByRetry, "rows that were refused for now are tried again later"},
		{campaign.ByFrequencyCap, "recipients who had as many messages as `policies.frequency_cap` allows"},
		{campaign.ByPairLimit, "recipients who had a message a few seconds ago"},
	}
}
