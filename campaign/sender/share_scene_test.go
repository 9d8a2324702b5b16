package sender_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

func of(template string) func(*request) bool {
	return func(q *request) bool { return q.template == template }
}

// startAll runs so many engines, each a moment after the other.
func (s *scene) startAll(n int) (stop func()) {
	var stops []func()
	for i := range n {
		_, stop := s.start(fmt.Sprint("sender ", i))
		stops = append(stops, stop)
		time.Sleep(37 * time.Millisecond)
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// A run of one segment is with one replica. It gets its part of the number all the same, and what
// the others get follows their weights.
func TestSharesFollowTheWeights(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				weights := map[string]float64{"large": 1, "small": 1, "heavy": 3}
				s.launchAs("large", 8_300, "UTILITY", "{}", "conn_1")
				s.launchAs("small", 2_000, "UTILITY", "{}", "conn_1")
				s.launchAs("heavy", 3_400, "UTILITY", "{weight: 3}", "conn_1")
				stop := s.startAll(replicas)
				time.Sleep(70 * time.Second)
				stop()
				to := time.Now()
				from := to.Add(-time.Minute)
				all := s.count(from, to, nil)
				if want := 60.0 * pace; float64(all) < 0.97*want || float64(all) > 1.01*want {
					t.Errorf("%d messages in a minute, want %.0f less 3 %% at most", all, want)
				}
				for name, w := range weights {
					got, want := float64(s.count(from, to, of(name)))/float64(all), w/5
					t.Logf("%s: %.1f %% of the number, %.0f %% by weight", name, 100*got, 100*want)
					if got < 0.95*want || got > 1.05*want {
						t.Errorf("%s gets %.3f of the number, want %.2f within 5 %%", name, got, want)
					}
				}
				s.end()
			})
		})
	}
}

// Runs with a deadline that can be met are done by then, beside a run of the same class and bulk of
// which neither starves. Limits that change while they are sent count within seconds.
func TestDeadlinesAreMetAndNobodyStarves(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.group = 200 * time.Millisecond // fewer transactions
				s.launchAs("bulk", 5_000, "MARKETING", "{}", "conn_1")
				s.launchAs("wide", 4_500, "MARKETING", "{weight: 3}", "conn_1")
				s.launchAs("soon", 1_000, "UTILITY", "{deadline: 1m}", "conn_1")
				s.launchAs("later", 2_000, "UTILITY", "{deadline: 100s}", "conn_1")
				s.launchAs("slow", 500, "UTILITY", "{rate: 5}", "conn_1")
				s.launchAs("late", 3_000, "MARKETING", "{deadline: 1m}", "conn_1") // it cannot be met
				rows := map[string]int{"soon": 1_000, "later": 2_000}
				began := time.Now()
				stop := s.startAll(replicas)
				time.Sleep(100 * time.Second)
				for name, by := range map[string]time.Duration{"soon": time.Minute, "later": 100 * time.Second} {
					if got, want := s.count(began, began.Add(by), of(name)), rows[name]; got != want {
						t.Errorf("%d messages of %s within %s, want all %d", got, name, by, want)
					}
				}
				for name, weight := range map[string]float64{"bulk": 1, "wide": 3, "late": 1} {
					for from := 5 * time.Second; from < 40*time.Second; from += 15 * time.Second {
						got := float64(s.count(began.Add(from), began.Add(from+15*time.Second), of(name))) / 15
						if floor := 0.1 * pace * weight / 8; got < 0.85*floor {
							t.Errorf("%s gets %.2f messages per second from %s on, want its floor of %.2f", name, got, from, floor)
						}
					}
				}
				one := 1
				if _, err := s.ledger.SetLimits(t.Context(), s.runs["wide"].No, campaign.LimitChange{Weight: &one}, ""); err != nil {
					t.Fatal(err)
				}
				from := time.Now().Add(5 * time.Second)
				time.Sleep(20 * time.Second)
				wide, bulk := s.count(from, time.Now(), of("wide")), s.count(from, time.Now(), of("bulk"))
				if wide < bulk*8/10 || wide > bulk*12/10 {
					t.Errorf("after its weight became that of bulk: %d of wide and %d of bulk, want as many", wide, bulk)
				}
				stop()
				s.end()
			})
		})
	}
}

// A run of one segment beside a large one on a number of 902/s gets its half at once, although one
// replica alone has it.
func TestASmallRunGetsItsPartOfAFastNumber(t *testing.T) {
	const fast = 902.0 // per second: throughput.HighLimit with its factor
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.options = func(o *sender.Options) { o.Pace = func(string) float64 { return fast } }
				s.launchAs("large", 9_500, "UTILITY", "{}", "conn_1")
				s.launchAs("small", 4_000, "UTILITY", "{}", "conn_1")
				stop := s.startAll(replicas)
				time.Sleep(8 * time.Second)
				stop()
				to := time.Now()
				from := to.Add(-4 * time.Second)
				all, small := s.count(from, to, nil), s.count(from, to, of("small"))
				t.Logf("%.1f %% of %.0f messages per second", 100*float64(small)/float64(all), float64(all)/4)
				if float64(all) < 0.8*4*fast || float64(all) > 1.01*4*fast {
					t.Errorf("%d messages in 4 s, want %.0f less 20 %% at most", all, 4*fast)
				}
				if part := float64(small) / float64(all); part < 0.45 || part > 0.55 {
					t.Errorf("the small run gets %.3f of the number, want 0.5", part)
				}
				s.end()
			})
		})
	}
}
