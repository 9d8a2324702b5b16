package ledger

import (
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"
)

// The time of a status counts, unless it lies more than five minutes after the receipt.
func TestAStatusFromTheFutureHasTheTimeItCame(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	came, none := now.Add(-time.Hour), time.Time{}
	for _, c := range []struct{ at, received, wantAt, wantReceived time.Time }{
		{none, none, now, now},
		{none, came, came, came},
		{came, none, came, now},
		{came.Add(-time.Minute), came, came.Add(-time.Minute), came},
		{came.Add(5 * time.Minute), came, came.Add(5 * time.Minute), came},
		{came.Add(5*time.Minute + 1), came, came, came},
		{now.Add(5 * time.Minute), none, now.Add(5 * time.Minute), now},
		{now.Add(5*time.Minute + 1), none, now, now},
	} {
		at, received, untimed := EventTimes(campaign.StatusEvent{At: c.at, ReceivedAt: c.received}, now)
		if own := !c.at.IsZero() && c.at.Equal(c.wantAt); !at.Equal(c.wantAt) || !received.Equal(c.wantReceived) || untimed == own {
			t.Errorf("of %v that came at %v: %v, %v, untimed %v; want %v, %v, %v", c.at, c.received, at, received, untimed,
				c.wantAt, c.wantReceived, !own)
		}
	}
}

// Ledgers of every age have these numbers, and so do the texts of statements.
func TestStoredNumbersNeverChange(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint([]Outcome{Deferred, Retrying, Doubt, Unknown, Accepted, Refused, Skipped},
		[]Rank{RankNone, RankSent, RankFailed, RankDelivered, RankRead},
		[]int{FlagAdopted, FlagMaybeDuplicate, FlagNoResend, FlagAmbiguous, FlagRepeatedID},
		[]string{CodeInterrupted, CodeReleased, CodeRestored})
	if want := "[1 2 3 4 5 6 7] [0 1 2 3 4] [1 2 4 8 16] [interrupted released restored]"; got != want {
		t.Errorf("stored as %s; want %s", got, want)
	}
}
