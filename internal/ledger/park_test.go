package ledger

import (
	"testing"
	"time"

	"campaignd/campaign"
)

func TestAParkedSegmentWakesWhenItMust(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000).UTC()
	later := func(ms int64) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	at := func(ms int64) int64 { return Millis(later(ms)) }
	none := time.Time{}
	const window = 500 * time.Millisecond
	for name, c := range map[string]struct {
		mark int64
		u    Unfinished
		wake time.Time
		want campaign.Parked
	}{
		"Done":                 {8, Unfinished{}, none, campaign.Parked{Done: true}},
		"DoneWhateverWakeSays": {8, Unfinished{}, later(9), campaign.Parked{Done: true}},
		"AnAnswerOnItsWay":     {8, Unfinished{Missing: 1}, later(9), campaign.Parked{Wake: now}},
		"ARetryOnItsWay":       {8, Unfinished{Retrying: 1}, later(9), campaign.Parked{Wake: now}},
		"AsAskedFor":           {5, Unfinished{Deferred: 1, NextDue: at(3)}, later(9), campaign.Parked{Wake: later(9)}},
		"QueuedDeliveries":     {5, Unfinished{Deferred: 1, NextDue: at(3)}, none, campaign.Parked{Wake: now}},
		"TheNextRetry":         {8, Unfinished{Deferred: 2, NextDue: at(3)}, none, campaign.Parked{Wake: later(3)}},
		"TheEndOfADoubt":       {8, Unfinished{Doubts: 1, DoubtSince: at(-400)}, none, campaign.Parked{Wake: later(100)}},
		"ADoubtBeforeARetry": {8, Unfinished{Deferred: 1, NextDue: at(200), Doubts: 1, DoubtSince: at(-400)}, none,
			campaign.Parked{Wake: later(100)}},
		"ARetryBeforeADoubt": {8, Unfinished{Deferred: 1, NextDue: at(50), Doubts: 1, DoubtSince: at(-400)}, none,
			campaign.Parked{Wake: later(50)}},
		"AWakeOfFineTimeIsRound": {5, Unfinished{}, later(9).Add(time.Microsecond), campaign.Parked{Wake: later(9)}},
	} {
		ends := func(since time.Time) time.Time { return since.Add(window) }
		if got := (Segment{Hi: 8, Mark: c.mark}).Park(c.u, now, c.wake, ends); got != c.want {
			t.Errorf("%s: parked %+v; want %+v", name, got, c.want)
		}
	}
}
