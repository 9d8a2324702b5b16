package ledger

import (
	"fmt"

	"campaignd/campaign"
)

func CheckScopes(s []campaign.Suppression) error {
	for _, x := range s {
		switch x.Scope {
		case campaign.ScopeMarketing, campaign.ScopeAll, campaign.ScopeUnreachable:
		default:
			return fmt.Errorf("suppression scope %q: want marketing, all or unreachable", x.Scope)
		}
	}
	return nil
}

// SuppressionStep is how many suppressions one transaction takes.
const SuppressionStep = 2000

// SkipFor is what a suppression of this scope means for a run, "" for nothing.
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

// Stronger chooses the reason to show when several suppressions hold.
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
