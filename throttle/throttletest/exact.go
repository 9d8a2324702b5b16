package throttletest

import (
	"context"
	"fmt"
	"time"

	"campaignd/throttle"
)

// Exact sends all of a quota of 100, of which 20 are kept, while every second message is refused.
// It returns an error unless exactly 80 marketing messages, and then exactly 20 others, are
// accepted, and none more when the count is lost. after loses the count, and returns the counter of
// the time after.
func Exact(ctx context.Context, c throttle.Counter, after func() throttle.Counter) error {
	now := time.Now()
	q := throttle.Quota{Key: "plan:exact", From: now.Add(-time.Hour), To: now.Add(time.Hour), Limit: 100, Kept: 20}
	accepted := 0
	count := func(context.Context, throttle.Quota) (int64, error) { return int64(accepted), nil }
	// drain sends until nothing is left, and at most four times the quota.
	drain := func(c throttle.Counter, reserve bool) error {
		s := throttle.NewStock(c, count)
		refused := false
		for sent := 0; sent < 400; {
			d, err := s.Draw(ctx, q, 7, reserve)
			if err != nil {
				return err
			}
			if d.Empty {
				return nil
			}
			if d.N == 0 {
				time.Sleep(time.Until(d.At))
			}
			for range d.N {
				sent++
				if refused = !refused; refused {
					s.Refund(d.Generation)
				} else {
					accepted++
				}
			}
		}
		return nil
	}
	for _, step := range []struct {
		what    string
		reserve bool
		lost    bool
		want    int
	}{{"marketing", false, false, 80}, {"others", true, false, 100}, {"others after the count was lost", true, true, 100}} {
		if step.lost {
			c = after()
		}
		if err := drain(c, step.reserve); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if accepted != step.want {
			return fmt.Errorf("%s: %d messages were accepted, want %d", step.what, accepted, step.want)
		}
	}
	return nil
}
