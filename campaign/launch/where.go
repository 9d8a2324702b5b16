package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"campaignd/campaign"
)

// resendable are the reasons for skipping that do not concern the recipient.
var resendable = []campaign.SkipReason{
	campaign.FrequencyCap, campaign.OverLimit, campaign.HeldOut, campaign.Expired, campaign.RunFailed, campaign.RunCancelled,
	campaign.SentBefore,
}

// Where selects rows of an ended run by status and, when Detail is not empty, by code or reason.
type Where struct {
	Status campaign.Status
	Detail string
}

// ParseWhere reads failed, failed=CODE, refused, refused=CODE, unknown, unknown=REASON, skipped or
// skipped=REASON. It refuses other rows: accepted, sent, delivered and read ones were sent, and
// most skipped ones must not be sent.
func ParseWhere(s string) (Where, error) {
	status, detail, given := strings.Cut(s, "=")
	w := Where{campaign.Status(status), detail}
	fault := func(what string) (Where, error) {
		return Where{}, fmt.Errorf("%q %s; give failed, failed=131049, refused, refused=send_media, unknown, unknown=accepted_no_id, skipped "+
			"or skipped=cancelled", s, what)
	}
	switch w.Status {
	case campaign.Failed, campaign.Refused, campaign.Unknown:
		if given && detail == "" {
			return fault("names no code")
		}
	case campaign.Skipped:
		if given && !slices.Contains(resendable, campaign.SkipReason(detail)) {
			return fault(fmt.Sprintf("cannot be sent: of the skipped rows only those may be that were skipped for %s", joined(resendable)))
		}
	default:
		return fault("chooses no rows that may be sent again")
	}
	return w, nil
}

// String is the form that ParseWhere reads.
func (w Where) String() string {
	if w.Detail == "" {
		return string(w.Status)
	}
	return string(w.Status) + "=" + w.Detail
}

func (w Where) match(l *campaign.Line) bool {
	if l.Status != w.Status {
		return false
	}
	switch w.Status {
	case campaign.Failed, campaign.Refused:
		return w.Detail == "" || l.HasCode(w.Detail)
	case campaign.Unknown:
		return w.Detail == "" || l.Code == w.Detail || l.Reason == w.Detail
	case campaign.Skipped:
		// People who were held out are compared with the others, and people who were sent to before have
		// the message, so a follow-up must name them.
		reason := campaign.SkipReason(l.Reason)
		return slices.Contains(resendable, reason) &&
			(l.Reason == w.Detail || w.Detail == "" && reason != campaign.HeldOut && reason != campaign.SentBefore)
	}
	return true
}

// withoutID are the reasons of doubts that no policy sends again, because the answer was a success
// (messaging.DoubtNoID).
var withoutID = []string{"accepted_no_id", "not_the_service"}

// isWithoutID reports whether the row is such a doubt. An operator may release it by its reason.
func isWithoutID(l *campaign.Line) bool {
	return l.Status == campaign.Unknown && (slices.Contains(withoutID, l.Code) || slices.Contains(withoutID, l.Reason))
}

// releases reports whether w names the very reason of a row.
func (w Where) releases(l *campaign.Line) bool { return w.Detail != "" && w.match(l) }

func joined(reasons []campaign.SkipReason) string {
	var all []string
	for _, r := range reasons {
		all = append(all, string(r))
	}
	slices.SortFunc(all, cmp.Compare)
	return strings.Join(all, ", ")
}
