package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// noting is a ledger that takes every firing for a new one.
type noting struct{ campaign.Ledger }

func (noting) NoteFiring(context.Context, campaign.Firing) (bool, error) { return true, nil }

// Three of five firings fail for one cause and one for another. The same is true of their launches,
// whose errors also name the time of the firing.
func TestFiringsThatFailForOneCauseAreOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &notes{}
		sc := New(Options{Ledger: noting{}, Log: logTo(log)})
		l := NewLauncher(sc)
		for _, fault := range []string{"no list", "no list", "no list", "no service", ""} {
			f := campaign.Firing{Campaign: "spring", At: time.Now(), Outcome: campaign.FiringLaunched}
			l.try(t.Context(), "cron spring", func(context.Context) error {
				if fault == "" {
					return nil
				}
				f.Outcome, f.Detail = campaign.FiringFailed, fault
				return fmt.Errorf("launch: %w", &firingError{"spring.yaml", f.At, errors.New(fault)})
			})
			l.Wait()
			if err := sc.note(t.Context(), f, false); err != nil {
				t.Fatalf("note: %v; want no error", err)
			}
			time.Sleep(time.Hour)
		}
		for _, want := range []struct {
			line  string
			times int
		}{
			{"a firing failed", 2}, {"why=\"no list\"", 1},
			{"why=\"no service\" failures_before=3", 1}, {"a firing was launched after others had failed", 1},
			{"a launch failed", 2}, {"Z: no service\" failures_before=3", 1}, {"a launch that failed has succeeded", 1}, {"failures=1", 2},
		} {
			if got := len(log.lines(want.line)); got != want.times {
				t.Errorf("%s: got %d lines, want %d:\n%s", want.line, got, want.times, strings.Join(log.lines(""), ""))
			}
		}
	})
}
