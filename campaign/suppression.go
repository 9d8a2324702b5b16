package campaign

import (
	"time"

	"campaignd/internal/messaging"
)

// UnreachableFor is how long a number is not sent to after the service reported it unreachable
// (131026), or after an operator called it so. Such a number may belong to somebody else later.
const UnreachableFor = 90 * 24 * time.Hour

// NewSuppression returns a suppression of a number in a scope, from an instant on: for ever, or for
// UnreachableFor in ScopeUnreachable.
func NewSuppression(key int64, to string, scope Scope, source string, at time.Time) Suppression {
	s := Suppression{Key: key, To: to, Scope: scope, Source: source, At: at}
	if scope == ScopeUnreachable {
		s.Until = at.Add(UnreachableFor)
	}
	return s
}

// OfCompany returns the suppression for one company alone, if it is an opt-out: who opts out of one
// client's messages may want another's. A number that is unreachable is so for all. company may be
// "": the suppression then stops the messages of all.
func (s Suppression) OfCompany(company string) Suppression {
	if s.Scope == ScopeMarketing {
		s.Company = company
	}
	return s
}

// ScopeText is the scope in one text, as ledgers and files have it: marketing, or marketing@COMPANY
// for the messages of one company.
func (s Suppression) ScopeText() string {
	if s.Company == "" {
		return string(s.Scope)
	}
	return string(s.Scope) + "@" + s.Company
}

// ScopeOf returns the scope of the suppression that a refusal or a failed status adds; "" when it
// adds none.
func ScopeOf(f messaging.Feed) Scope {
	switch f {
	case messaging.FeedOptOut:
		return ScopeMarketing
	case messaging.FeedUnreachable:
		return ScopeUnreachable
	}
	return ""
}
