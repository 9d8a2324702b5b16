package daemon

import (
	"testing"
	"time"

	"campaignd/campaign/plan"
)

// A window is closed only if it is closed for everybody, be it for one recipient.
func TestAWindowCountsTheRecipientsItIsOpenFor(t *testing.T) {
	opens, closes := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)
	const others = "open for 1 of 6 recipients, and it does not open for the others within a year; sending would begin now"
	for want, o := range map[string]plan.Opening{
		others: {Open: 1, Closed: 5},
		"closed, and it does not open within a year":           {Closed: 5},
		"closed; sending would begin Mon 2026-03-02 09:00 UTC": {Closed: 5, Opens: opens, Zone: time.UTC},
		"open for 1 of 2 recipients, for the next from Mon 2026-03-02 09:00 UTC; sending would begin now": {
			Open: 1, Closed: 1, Opens: opens, Closes: closes, Zone: time.UTC},
		"always open; sending would begin now":                         {Open: 1},
		"open until Mon 2026-03-02 20:00 UTC; sending would begin now": {Open: 1, Closes: closes, Zone: time.UTC},
	} {
		if got := windowSentence(o); got != want {
			t.Errorf("%+v: got %q, want %q", o, got, want)
		}
	}
}
