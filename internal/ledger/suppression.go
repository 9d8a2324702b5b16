package ledger

import (
	"fmt"
	"slices"
	"strings"

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

// Refused returns the suppression that a refusal adds.
func (o Options) Refused(r *campaign.Result) campaign.Suppression {
	if o.PerCompany && o.Origin != nil {
		return r.Suppress.OfCompany(o.Origin(r.Connection).Company)
	}
	return *r.Suppress
}

// ScanSuppression reads key, scope, until, at, dest and source.
func ScanSuppression(scan func(...any) error) (s campaign.Suppression, err error) {
	var scope string
	var until, at int64
	err = scan(&s.Key, &scope, &until, &at, &s.To, &s.Source)
	s.Until, s.At = TimeOf(until), TimeOf(at)
	kind, company, _ := strings.Cut(scope, "@")
	s.Scope, s.Company = campaign.Scope(kind), company
	return s, err
}

// SkipFor is the reason to skip a recipient with a suppression whose ScopeText is this; "" if a
// run may send to them. companies are those of the run. If one of them is "", or there is none, the
// suppression of any company stops it.
func SkipFor(scope string, marketing bool, companies ...string) campaign.SkipReason {
	kind, company, one := strings.Cut(scope, "@")
	if one && len(companies) > 0 && !slices.Contains(companies, company) && !slices.Contains(companies, "") {
		return ""
	}
	switch campaign.Scope(kind) {
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
