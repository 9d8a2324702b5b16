package ledger

import (
	"fmt"
	"slices"

	"campaignd/campaign"
)

// suppressionStep is how many suppressions one transaction takes.
const suppressionStep = 2000

// InSteps calls write for each suppressionStep of a list and adds up how many rows it changed. Each step
// is durable by itself: after an error those before it stand, and repeating the call is harmless.
func InSteps(list []campaign.Suppression, write func(step []campaign.Suppression) (int64, error)) (changed int, err error) {
	for _, s := range list {
		switch s.Scope {
		case campaign.ScopeMarketing, campaign.ScopeAll, campaign.ScopeUnreachable:
		default:
			return 0, fmt.Errorf("suppression scope %q: want marketing, all or unreachable", s.Scope)
		}
	}
	for step := range slices.Chunk(list, suppressionStep) {
		n, err := write(step)
		if err != nil {
			return changed, err
		}
		changed += int(n)
	}
	return changed, nil
}

// ScanSuppression reads key, scope, until, at, dest and source.
func ScanSuppression(scan func(...any) error) (s campaign.Suppression, err error) {
	var until, at int64
	err = scan(&s.Key, &s.Scope, &until, &at, &s.To, &s.Source)
	s.Until, s.At = TimeOf(until), TimeOf(at)
	return s, err
}

// SkipFor is the reason to skip a recipient with a suppression of this scope; "" if a run may send to
// them.
func SkipFor(s campaign.Scope, marketing bool) campaign.SkipReason {
	switch s {
	case campaign.ScopeAll:
		return campaign.Suppressed
	case campaign.ScopeMarketing:
		if marketing {
			return campaign.OptedOut
		}
	case campaign.ScopeUnreachable:
		return campaign.Unreachable
	}
	return ""
}

// Stronger is the reason to show when both hold.
func Stronger(a, b campaign.SkipReason) campaign.SkipReason {
	order := func(r campaign.SkipReason) int {
		switch r {
		case campaign.Suppressed:
			return 3
		case campaign.OptedOut:
			return 2
		case campaign.Unreachable:
			return 1
		}
		return 0
	}
	if order(b) > order(a) {
		return b
	}
	return a
}
