package operator

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
)

// OnlyFiring returns the only firing of a schedule (schedule.at) as the ledger has it. If seen is
// nil it is new, and key is the key for its record.
//
// A firing is its instant, however the file spells it. The ledger may have the same civil time at
// another instant: the file had another time zone then. If that firing was launched, or is being
// launched, people get the message, and it counts. If it was missed or failed, nobody got it, and
// the firing at the right instant is another one, with a key of its own.
func OnlyFiring(
	ctx context.Context, l campaign.FiringLedger, name string, once plan.Firing,
) (seen *campaign.Firing, key string, err error) {
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

// next returns when f fires next after a time, the zero time for never. One time (schedule.at) may
// be to come and fire nothing: its time zone was changed after it had been launched.
func (d *Session) next(ctx context.Context, f *File, after time.Time) (time.Time, error) {
	at := f.Cron.Next(after).At
	once, ok := f.Cron.Once()
	if !ok || at.IsZero() || d.Ledger == nil {
		return at, nil
	}
	seen, _, err := OnlyFiring(ctx, d.Ledger, f.Definition.Name, once)
	if err != nil || seen != nil && !seen.At.Equal(at) {
		return time.Time{}, err
	}
	return at, nil
}
