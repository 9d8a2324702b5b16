package launch_test

import (
	"context"
	"errors"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// lifting is a suppression list of every number; the n-th call fails.
type lifting struct {
	campaign.SuppressionLedger
	*fuse
}

func (l lifting) Unsuppress(_ context.Context, s []campaign.Suppression) (int, error) {
	return through(l.fuse, "Unsuppress", func() (int, error) { return len(s), nil })
}

// A lift that fails counts the numbers that it lifted, and no other.
func TestALiftThatFailsCountsWhatItLifted(t *testing.T) {
	const one, two, none = "+2348031234501", "+2348031234502", "08031234501"
	for _, c := range []struct {
		numbers []string
		fails   int
		lifted  int
		want    error
	}{
		{[]string{one, two}, 0, 2, nil}, {[]string{one, two}, 1, 0, errAway}, {[]string{one, two}, 2, 1, errAway},
		{[]string{one, none}, 0, 0, launch.ErrNoNumber},
	} {
		lifted, absent, err := launch.LiftSuppressions(t.Context(), lifting{fuse: &fuse{left: c.fails}}, c.numbers, campaign.ScopeAll)
		if lifted != c.lifted || absent != 0 || !errors.Is(err, c.want) {
			t.Errorf("%v, call %d fails: got %d lifted, %d absent, %v, want %d, 0, %v", c.numbers, c.fails, lifted, absent, err, c.lifted, c.want)
		}
	}
}
