package ledger

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

func TestTheLaterWishHoldsWithinABatch(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	wish := func(key int64, minute int) campaign.Suppression {
		return campaign.Suppression{Key: key, Scope: campaign.ScopeMarketing, At: noon.Add(time.Duration(minute) * time.Minute)}
	}
	// An unreachable number is no wish: it is not older or newer than a resume.
	unreachable := campaign.Suppression{Key: 1, Scope: campaign.ScopeUnreachable, At: noon.Add(time.Hour)}
	stops := []campaign.Suppression{wish(1, 0), unreachable, wish(2, 5), wish(3, 3), wish(5, 1), wish(5, 9)}
	got := Later([]campaign.Suppression{wish(1, 1), wish(2, 4), wish(3, 3), wish(5, 5), wish(6, 1)}, stops)
	if d := cmp.Diff([]campaign.Suppression{wish(1, 1), wish(6, 1)}, got); d != "" {
		t.Errorf("opt-ins -want +got:\n%s", d)
	}
}

func TestAWishForOneCompanyUndoesNoOther(t *testing.T) {
	t.Parallel()
	wish := func(company string, minute int) campaign.Suppression {
		return campaign.Suppression{Key: 1, Company: company, Scope: campaign.ScopeMarketing, At: time.Unix(int64(60*minute), 0)}
	}
	got := Later([]campaign.Suppression{wish("comp_2", 1), wish("comp_1", 3)}, []campaign.Suppression{wish("comp_1", 5)})
	if len(got) != 1 || got[0].Company != "comp_2" {
		t.Errorf("got %+v, want the resume for comp_2 alone", got)
	}
}

// The time since a reading is measured by the monotonic clock, and a reading is used for 10
// seconds.
func TestTheClockOfADatabaseIsReadFromTimeToTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		reads, away := 0, error(nil)
		now := func(exact bool) time.Duration {
			t.Helper()
			at, err := c.Now(exact, func() (time.Time, error) {
				reads++
				return time.Now().Add(time.Hour), away
			})
			if !errors.Is(err, away) {
				t.Errorf("got %v, want %v", err, away)
			}
			return time.Until(at)
		}
		for _, step := range []struct {
			wait  time.Duration
			exact bool
			reads int
		}{{0, false, 1}, {9 * time.Second, false, 1}, {time.Second, false, 2}, {time.Second, true, 3}} {
			time.Sleep(step.wait)
			if ahead := now(step.exact); ahead != time.Hour || reads != step.reads {
				t.Errorf("%+v: got a clock %s ahead after %d readings, want 1h0m0s after %d", step, ahead, reads, step.reads)
			}
		}
		away = errors.New("away")
		now(true)
	})
}
