package sender_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

// A missing payment has no event that ends it over the Cloud API: one row at a time of all
// connections and replicas tries the account, after 1, 2, 4 minutes and so on. A refused row stays
// queued, and an accepted one ends the hold.
func TestAHoldThatAPersonEndsIsTried(t *testing.T) {
	const rows = 1000
	for _, tt := range []struct {
		name     string
		code     int
		platform bool
		tries    int // in the 8 minutes after the refusal
	}{
		{"no payment, over the Cloud API", 131042, true, 3},
		{"a ban, over the Cloud API", 368, true, 0},
		{"no payment, over the service", 131042, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.options = func(o *sender.Options) {
					o.Origin = func(string) campaign.Origin {
						return campaign.Origin{Company: "main", Account: "account_1", Platform: tt.platform}
					}
				}
				s.launch("spring", rows, "conn_1") // each connection has rows of its own to try
				s.launch("autumn", rows, "conn_2")
				failed := time.Now().Add(5 * time.Second)
				healthy := failed.Add(9 * time.Minute)
				s.answer = func(q *request) *http.Response {
					if q.at.After(failed) && q.at.Before(healthy) {
						time.Sleep(3 * time.Second)
						return refuse(tt.code)
					}
					return nil
				}
				_, stopA := s.start("a")
				_, stopB := s.start("b")
				time.Sleep(time.Until(healthy.Add(-time.Minute)))
				var at []time.Duration
				s.mu.Lock()
				for _, q := range s.requests {
					if q.at.After(failed.Add(10 * time.Second)) {
						at = append(at, q.at.Sub(failed).Round(time.Second))
					}
				}
				s.mu.Unlock()
				if len(at) != tt.tries {
					t.Errorf("tries after %v, want %d", at, tt.tries)
				}
				for i := 1; i < len(at); i++ {
					if rest, want := at[i]-at[i-1], time.Minute<<i; rest < want || rest > want+15*time.Second {
						t.Errorf("tries after %v, want a minute, then twice as long each time", at)
					}
				}
				for _, run := range []string{"spring", "autumn"} {
					if got := s.tallies(run); got["refused"] > 0 {
						t.Errorf("%s: %v, want nobody refused", run, sortedKeys(got))
					}
				}
				time.Sleep(20 * time.Minute)
				stopA()
				stopB()
				held := s.holds()
				for _, run := range []string{"spring", "autumn"} {
					got := s.tallies(run)
					if all := got["accepted"] == rows; all != (tt.tries > 0) || (len(held) == 0) != (tt.tries > 0) {
						t.Errorf("%s: %v, holds %q; want all accepted and no hold: %v", run, sortedKeys(got), held, tt.tries > 0)
					}
				}
				var twice []string
				for _, q := range s.requests {
					if q.accepted {
						twice = append(twice, q.to)
					}
				}
				if slices.Sort(twice); len(slices.Compact(slices.Clone(twice))) != len(twice) {
					t.Errorf("%d messages to fewer people, want one each", len(twice))
				}
				s.end()
			})
		})
	}
}
