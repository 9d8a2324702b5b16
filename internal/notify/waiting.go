package notify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/internal/sentence"
)

// look checks whether a waiting notification may be sent. It reports whether it stored something.
func (s *Sender) look(ctx context.Context, d *Destination, n campaign.Notification) bool {
	if n.Kind == campaign.NotifyHoldEnded {
		return s.over(ctx, d, n)
	}
	return s.settle(ctx, n)
}

// settle makes the notification of an ended run pending when its statuses do not change any more.
// It reports whether it stored something.
func (s *Sender) settle(ctx context.Context, n campaign.Notification) bool {
	totals, err := s.totals(ctx, n)
	if err != nil {
		return false
	}
	last, err := s.o.Ledger.LastEventAt(ctx, n.Run)
	if err != nil {
		return false
	}
	if last.Before(n.At) {
		last = n.At
	}
	now, is := time.Now(), n
	open := totals[string(campaign.Accepted)] + totals[string(campaign.Sent)] + totals[string(campaign.InDoubt)]
	switch {
	case open == 0 && (totals[string(campaign.Delivered)] == 0 || now.Sub(last) >= quietTime), now.Sub(n.At) >= settledAfter:
		is.State, is.Since, is.NextAt = campaign.NotificationPending, now, now
	default:
		is.NextAt = now.Add(max(lookAgain, now.Sub(n.At)/10)) // counting a large run takes time
	}
	return s.update(ctx, n, is)
}

// over makes the notification of the end of a hold pending when the hold has been ended for
// quietTime. A hold that begins again before that has not ended.
func (s *Sender) over(ctx context.Context, d *Destination, n campaign.Notification) bool {
	holds, err := s.o.Ledger.Holds(ctx, true)
	if err != nil {
		return false
	}
	now, is, told := time.Now(), n, n
	i := slices.IndexFunc(holds, func(h campaign.Hold) bool { return h.Subject() == n.Subject && h.Reason == n.Reason })
	var h wording.HoldState
	if i >= 0 {
		h = wording.State(holds[i], now)
	}
	switch {
	case i < 0:
		told.Detail = n.Subject + " is not held any more"
	case h.Since.After(n.At): // it was lifted and began again, which has a notification of its own
		told.Detail = fmt.Sprintf("the hold of %s from %s was lifted, and another has begun",
			n.Subject, sentence.Instant(n.At))
	case h.Ended == nil:
		is.NextAt = now.Add(lookAgain)
		return s.update(ctx, n, is)
	case now.Before(h.Ended.Add(quietTime)):
		is.NextAt = h.Ended.Add(quietTime)
		return s.update(ctx, n, is)
	default:
		told.Detail, told.At = h.Sentence, *h.Ended
	}
	is.State, is.Since, is.NextAt = campaign.NotificationPending, now, now
	if is.Body, err = body(d.Format, told, nil); err != nil {
		return false
	}
	return s.update(ctx, n, is)
}
