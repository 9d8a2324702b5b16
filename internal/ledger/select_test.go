package ledger

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// A ledger that reads a million deliveries in a second, and slows down on the way.
func TestAPageEndsInItsTimeWithNothingLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const end = 1_000_000
		matches := []int64{0, 1, 2, 3, 4095, 4096, 5000, 299_999, 300_000, 999_999}
		find := func(_ *Lookup, from, to int64, n int) (all []campaign.Line, _ error) {
			last := to
			for _, seq := range matches {
				if seq >= from && seq < to && len(all) < n {
					all = append(all, campaign.Line{Delivery: campaign.Delivery{Seq: seq, Key: 7}})
				}
			}
			if len(all) == n {
				last = all[n-1].Seq
			}
			for _, slow := range []int64{0, end / 2} {
				time.Sleep(time.Duration(max(last, slow)-max(from, slow)) * time.Microsecond)
			}
			return all, nil
		}
		for _, n := range []int{1, 3, 100} {
			var got []int64
			pages := 0
			for next, more := int64(0), true; more; more = next != 0 {
				begun := time.Now()
				var page []campaign.Line
				page, next, _ = Select(&campaign.LineFilter{Key: 7}, next, end, n, find)
				if took := time.Since(begun); took > 2*pageTime || len(page) > n {
					t.Errorf("a page of %d deliveries took %v, want at most %d in %v", len(page), took, n, 2*pageTime)
				}
				for _, line := range page {
					got = append(got, line.Seq)
				}
				pages++
			}
			if !slices.Equal(got, matches) || pages < 100 {
				t.Errorf("pages of %d: got the seqs %v on %d pages, want %v on 100 or more", n, got, pages, matches)
			}
		}
	})
}
