package schedule

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/internal/sentence"
)

// onceOf returns the only firing of a schedule (schedule.at) as the ledger has it. If seen is nil
// it is new, and key is the key for its record.
//
// A firing is its instant, however the file spells it. The ledger may have the same civil time at
// another instant: the file had another time zone then. If that firing was launched, or is being
// launched, people get the message, and it counts. If it was missed or failed, nobody got it, and
// the firing at the right instant is another one, with a key of its own.
func onceOf(ctx context.Context, l campaign.FiringLedger, name string, once plan.Firing) (seen *campaign.Firing, key string, err error) {
	for _, f := range []campaign.FiringFilter{{Campaign: name, Until: once.At, Limit: 1}, {Campaign: name, Key: once.Key}} {
		found, err := l.Firings(ctx, f)
		if err != nil {
			return nil, "", fmt.Errorf("read firings: %w", err)
		}
		for i := range found {
			was := &found[i]
			if was.At.Equal(once.At) || was.Key == once.Key && (was.Outcome.Open() || was.Outcome == campaign.FiringLaunched) {
				return was, was.Key, nil
			}
			if was.Key == once.Key {
				key = once.InstantKey()
			}
		}
	}
	return nil, key, nil
}

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
		if seen, _, err = onceOf(ctx, l, def.Name, once); err != nil {
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
