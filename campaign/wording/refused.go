package wording

import (
	"time"

	"campaignd/campaign/reception"
	"campaignd/internal/sentence"
)

// Refused says what webhooks are refused at now; "": none. None means the same as in
// reception.Signatures.Refused.
func Refused(s reception.Signatures, now time.Time) (told string, none bool) {
	refused, none := s.Refused(now)
	if !refused {
		return "", false
	}
	told = sentence.Count(s.Count, "event", "events") + " with a wrong signature refused since " + sentence.Instant(s.Since)
	beside := " while others are verified: "
	if none {
		beside = ", and none verified after the last: "
	}
	return told + beside + lacking(s, none) + ", or a stranger posts there", none
}

// lacking says which key lacks the secret of what was refused.
func lacking(s reception.Signatures, none bool) string {
	switch {
	case s.OfApps():
		return "the app_secret_file of cloud.accounts is not their app's"
	case s.Apps > 0:
		return "webhooks.secrets lacks a secret, and the app_secret_file of cloud.accounts is not the app's"
	case none:
		return "webhooks.secrets lacks their secret"
	}
	return "webhooks.secrets lacks one secret (a half-done rotation)"
}
