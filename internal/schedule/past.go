package schedule

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/internal/operator"
	"campaignd/internal/sentence"
)

// Past says why a schedule with one time (schedule.at) launches nothing any more, in a sentence
// that begins with that time. It is "" if the campaign may still be launched, is being launched, or
// was, and for cron, which always has times to come. l tells what became of the firing; nil: no
// process looked at it.
func Past(ctx context.Context, l campaign.FiringLedger, def *file.Definition, c *plan.Cron, now time.Time) (string, error) {
	if c == nil {
		return "", nil
	}
	once, ok := c.Once()
	if !ok {
		return "", nil
	}
	var seen *campaign.Firing
	if l != nil {
		var err error
		if seen, _, err = operator.OnlyFiring(ctx, l, def.Name, once); err != nil {
			return "", err
		}
	}
	s, at := def.Schedule, fmt.Sprintf("%s in %s", c, c.Zone())
	late := plan.Misfire(s.Misfire, time.Duration(s.Grace), once.At, now) == plan.Skip
	switch {
	case !late && seen != nil && !seen.At.Equal(once.At):
		return fmt.Sprintf("%s never fires: its firing of %s, in another time zone, is %s", at, sentence.Instant(seen.At), seen.Outcome), nil
	case !late, seen != nil && (seen.Outcome.Open() || seen.Outcome == campaign.FiringLaunched):
		return "", nil
	case seen != nil:
		return fmt.Sprintf("%s was its only firing, which was %s", at, seen.Outcome), nil
	}
	return at + " has passed, so it never fires", nil
}
