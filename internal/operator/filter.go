package operator

import (
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
)

// waiting are the statuses of rows whose reason is a word of the service: there may be any.
var waiting = []campaign.Status{campaign.Queued, campaign.Sending, campaign.InDoubt, campaign.Unknown}

// checkFilter refuses a filter that no row can match whatever became of the run: an empty page
// would say that there are no such rows. Codes are not a closed list, so any code is looked for.
func checkFilter(f *resource.DeliveryFilter) error {
	failed := f.Status == campaign.Failed || f.Status == campaign.Refused
	skipped := slices.Contains(campaign.SkipReasons, campaign.SkipReason(f.Code))
	switch {
	case f.Status != "" && !slices.Contains(campaign.Statuses, f.Status):
		return invalid("unknown status %q; %s", sentence.Shorten(string(f.Status), 40),
			sentence.DidYouMean(string(f.Status), words(campaign.Statuses)))
	case !f.Since.IsZero() && !f.Before.IsZero() && !f.Since.Before(f.Before):
		return invalid("before %s is not later than since %s, so no row can match",
			f.Before.Format(time.RFC3339), f.Since.Format(time.RFC3339))
	case f.Reason != "" && f.Code != "":
		return invalid("a row has a reason or a code and never both, so no row can match; leave one of them out")
	case f.Code != "" && f.Status != "" && !failed:
		return invalid("only failed and refused rows have a code, so no row can match; give another status, or reason instead of code")
	case f.Code != "" && f.Status == "" && skipped:
		return invalid("%s is a reason of skipped rows and no code; give reason=%[1]s", f.Code)
	case f.Reason != "" && failed:
		return invalid("%s rows have a code and no reason, so no row can match; give code instead of reason", f.Status)
	}
	return checkReason(f)
}

// checkReason refuses a reason that no row can have.
func checkReason(f *resource.DeliveryFilter) error {
	known := slices.Contains(campaign.SkipReasons, campaign.SkipReason(f.Reason))
	if f.Reason == "" || known && (f.Status == "" || f.Status == campaign.Skipped) {
		return nil
	}
	unknown := sentence.Shorten(f.Reason, 40)
	remedy := sentence.DidYouMean(f.Reason, words(campaign.SkipReasons))
	switch {
	case f.Status == campaign.Skipped:
		return invalid("no row is skipped for %q; %s", unknown, remedy)
	case f.Status == "":
		return invalid("no row is skipped for %q; %s. A code of failed rows is given as code, and the reason why a row waits or is in "+
			"doubt together with its status", unknown, remedy)
	case !slices.Contains(waiting, f.Status):
		return invalid("%s rows have no reason, so no row can match; leave reason or status out", f.Status)
	}
	return nil
}

// checkConnection refuses a connection that the campaign of a run does not use.
func checkConnection(r campaign.Run, connection string) error {
	if connection == "" {
		return nil
	}
	if def, err := file.ParseStored(r.ID(), r.Definition); err == nil && !slices.Contains(def.Connections, connection) {
		return invalid("%s does not use the connection %q; %s", r.ID(), sentence.Shorten(connection, 60),
			sentence.DidYouMean(connection, def.Connections))
	}
	return nil // a campaign that this version cannot read may have any
}

func words[T ~string](all []T) (out []string) {
	for _, w := range all {
		out = append(out, string(w))
	}
	return out
}
