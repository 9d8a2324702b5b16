package schedule

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
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
	s := def.Schedule
	if !ok || plan.Misfire(s.Misfire, time.Duration(s.Grace), once.At, now) != plan.Skip {
		return "", nil
	}
	at := fmt.Sprintf("%s in %s", c, c.Zone())
	if l != nil {
		seen, err := l.Firings(ctx, campaign.FiringFilter{Campaign: def.Name, Key: once.Key})
		switch {
		case err != nil:
			return "", fmt.Errorf("read firings: %w", err)
		case len(seen) > 0 && (seen[0].Outcome.Open() || seen[0].Outcome == campaign.FiringLaunched):
			return "", nil
		case len(seen) > 0:
			return fmt.Sprintf("%s was its only firing, which was %s", at, seen[0].Outcome), nil
		}
	}
	return at + " has passed, so it never fires", nil
}
