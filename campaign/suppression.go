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
