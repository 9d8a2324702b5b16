package daemon

import (
	"testing"
	"time"

	"campaignd/campaign"
)

// TestRunEndsWhenStatusesAreSettled holds design section 11: all rows terminal, or --settle after the last answer.
func TestRunEndsWhenStatusesAreSettled(t *testing.T) {
	const settle = 30 * time.Second
	t0 := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }
	type step struct {
		at     float64
		totals map[campaign.Status]int64
		event  float64 // last event; 0: none
		over   bool
	}
	for name, steps := range map[string][]step{
		"never while something is queued": {
			{0, map[campaign.Status]int64{campaign.Queued: 5, campaign.Read: 5}, 0, false},
			{300, map[campaign.Status]int64{campaign.Queued: 5, campaign.Read: 5}, 1, false},
		},
		"at once when every row is terminal": {
			{0, map[campaign.Status]int64{campaign.Read: 5, campaign.Failed: 2, campaign.Skipped: 1}, 0, true},
		},
		"all delivered: when no read came for a while": {
			{0, map[campaign.Status]int64{campaign.Delivered: 5}, 0, false},
			{2, map[campaign.Status]int64{campaign.Delivered: 4, campaign.Read: 1}, 2, false},
			{4, map[campaign.Status]int64{campaign.Delivered: 4, campaign.Read: 1}, 2, false},
			{5.1, map[campaign.Status]int64{campaign.Delivered: 4, campaign.Read: 1}, 2, true},
		},
		"settle after the last answer": {
			{0, map[campaign.Status]int64{campaign.Sending: 1, campaign.Sent: 9}, 0, false},
			{1, map[campaign.Status]int64{campaign.Sent: 10}, 1, false},
			{30, map[campaign.Status]int64{campaign.Sent: 10}, 1, false},
			{31.1, map[campaign.Status]int64{campaign.Sent: 10}, 1, true},
		},
		"a doubt is not waited for beyond settle": {
			{0, map[campaign.Status]int64{campaign.InDoubt: 1, campaign.Read: 9}, 1, false},
			{30.1, map[campaign.Status]int64{campaign.InDoubt: 1, campaign.Read: 9}, 1, true},
		},
		"not while the service works off what it accepted": {
			{0, map[campaign.Status]int64{campaign.Accepted: 10}, 0, false},
			{29, map[campaign.Status]int64{campaign.Accepted: 8, campaign.Sent: 2}, 29, false},
			{31, map[campaign.Status]int64{campaign.Accepted: 6, campaign.Sent: 4}, 31, false},
			{33, map[campaign.Status]int64{campaign.Accepted: 4, campaign.Sent: 6}, 33, false},
			{36.1, map[campaign.Status]int64{campaign.Accepted: 4, campaign.Sent: 6}, 33, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s silence
			for _, st := range steps {
				s.observe(st.totals, at(st.at))
				event := time.Time{}
				if st.event > 0 {
					event = at(st.event)
				}
				if got := s.over(st.totals, at(st.at), event, settle); got != st.over {
					t.Errorf("after %v s: over = %v, want %v", st.at, got, st.over)
				}
			}
		})
	}
}
