package ledger

import (
	"time"

	"campaignd/campaign"
)

// Unfinished counts the deliveries of a segment without a final outcome. Times are in milliseconds.
type Unfinished struct {
	Missing                    int64 // deliveries below the mark without an outcome
	Deferred, Retrying, Doubts int64 // outcomes in these states
	NextDue                    int64 // of the first deferred one
	DoubtSince                 int64 // of the oldest doubt
}

// Park says whether the segment is done, and otherwise when it may be claimed again. That is at
// once, whatever wake says, while results of deliveries below the mark are not recorded: if the
// owner dies, another one must recover them. ends says when the window of a doubt is over.
func (s Segment) Park(u Unfinished, now, wake time.Time, ends func(since time.Time) time.Time) (p campaign.Parked) {
	switch {
	case u.Missing > 0 || u.Retrying > 0:
		p.Wake = now
	case s.Mark == s.Hi && u.Missing == 0 && u.Deferred == 0 && u.Doubts == 0:
		p.Done = true
	case !wake.IsZero():
		p.Wake = wake
	case s.Mark < s.Hi:
		p.Wake = now
	default:
		if u.Deferred > 0 {
			p.Wake = TimeOf(u.NextDue)
		}
		if u.Doubts > 0 {
			if over := ends(TimeOf(u.DoubtSince)); p.Wake.IsZero() || over.Before(p.Wake) {
				p.Wake = over
			}
		}
	}
	p.Wake = TimeOf(Millis(p.Wake))
	return p
}
