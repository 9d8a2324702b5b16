package plan_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
)

// monday is the start of the forecasts below.
var monday = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// one is a situation with a number of an hourly pace and a run of so many rows.
func one(perHour float64, rows int64) *plan.Situation {
	return &plan.Situation{Now: monday,
		Numbers: []plan.Number{{ID: "a", Pace: perHour / 3600}},
		Runs:    []plan.Run{{ID: "run", Numbers: []string{"a"}, Groups: []plan.Group{{Remaining: rows}}, Budget: -1}}}
}

// curve is what is sent in each hour, with the first two letters of what limits it.
func curve(f plan.Forecast) string {
	var out []string
	for _, h := range f.Hours {
		out = append(out, fmt.Sprintf("%d%s", h.Messages, h.LimitedBy[:2]))
	}
	return strings.Join(out, " ")
}

func month(messages int64, reserve float64) plan.Allowance {
	return plan.Allowance{Messages: messages, Reserve: reserve, Day: 1, Zone: time.UTC}
}

func TestAForecastNamesTheLimitOfEachHour(t *testing.T) {
	for _, c := range []struct {
		name    string
		rows    int64
		change  func(s *plan.Situation)
		after   time.Duration // 0: never
		curve   string        // of the first five hours
		runsOut string
	}{
		{"nothing but the rate", 250, func(*plan.Situation) {}, 150 * time.Minute, "100th 100th 50th", ""},
		{"its own rate", 250, func(s *plan.Situation) { s.Runs[0].Rate = 50.0 / 3600 }, 5 * time.Hour, "50ru 50ru 50ru 50ru 50ru", ""},
		{"an own rate above the pace", 250, func(s *plan.Situation) { s.Runs[0].Rate = 1 }, 150 * time.Minute, "100th 100th 50th", ""},
		{"a tier", 250, func(s *plan.Situation) {
			s.Numbers[0].Tier, s.Tiers = "p", []plan.Tier{{Name: "p", Limit: 150}}
		}, time.Hour + campaign.ReachFor, "100th 50ti 0ti 0ti 0ti", "tier at row 151 after 1h30m0s"},
		{"a tier that is used already", 100, func(s *plan.Situation) {
			from := monday.Add(-22 * time.Hour)
			s.Numbers[0].Tier = "p"
			s.Tiers = []plan.Tier{{Name: "p", Limit: 150, Reached: []campaign.Reached{{From: from, To: from.Add(time.Hour), N: 150}}}}
		}, 3*time.Hour + time.Minute, "0ti 0ti 98th 2th", "tier at row 1 after 0s"},
		{"a tier whose places were used at once, and just now", 260, func(s *plan.Situation) {
			s.Numbers[0].Tier = "p"
			at := func(ago time.Duration, n int64) campaign.Reached {
				return campaign.Reached{From: monday.Add(-ago), To: monday.Add(-ago), N: n}
			}
			s.Tiers = []plan.Tier{{Name: "p", Limit: 130, Reached: []campaign.Reached{at(22*time.Hour, 20),
				at(22*time.Hour-500*time.Millisecond, 10), at(-time.Second, 50)}}}
		}, 48*time.Hour + 32*time.Minute - time.Second, "50ti 0ti 30ti 0ti 0ti", "tier at row 51 after 30m0s"},
		{"a tier and refusals", 250, func(s *plan.Situation) {
			s.Numbers[0].Tier, s.Tiers = "p", []plan.Tier{{Name: "p", Limit: 150}}
			s.Past.Refused.Mean = 0.5
		}, 150 * time.Minute, "100th 100th 50th", ""},
		{"an allowance until the month ends", 250, func(s *plan.Situation) {
			s.Now = time.Date(2026, 3, 31, 21, 0, 0, 0, time.UTC)
			s.Numbers[0].Allowance = "plan"
			s.Allowances = []plan.Quota{{Name: "plan", Allowance: month(1000, 0), Used: 850}}
		}, 4 * time.Hour, "100th 50al 0al 100th", "allowance at row 151 after 1h30m0s"},
		{"the reserve of an allowance", 250, func(s *plan.Situation) {
			s.Numbers[0].Allowance, s.Runs[0].Marketing = "plan", true
			s.Allowances = []plan.Quota{{Name: "plan", Allowance: month(1000, 0.06), Used: 740}}
		}, (29*24+16)*time.Hour + 30*time.Minute, "100th 100th 0al", "allowance at row 201 after 2h0m0s"},
		{"a ramp", 250, func(s *plan.Situation) {
			s.Numbers[0].Ramped = 30
			s.Numbers[0].Ramp = &plan.Ramp{Start: 150, Step: 150, Ceiling: 1000}
			s.Numbers[0].RampState = plan.RampState{Day: plan.RampDay(monday)}
		}, 17*time.Hour + 18*time.Minute, "100th 20ra 0ra 0ra 0ra", "ramp at row 121 after 1h12m0s"},
		{"an allowance and a ramp that end together", 40, func(s *plan.Situation) {
			s.Numbers[0].Allowance, s.Allowances = "plan", []plan.Quota{{Name: "plan", Allowance: month(25, 0)}}
			s.Numbers[0].Ramp = &plan.Ramp{Start: 10, Step: 5, Ceiling: 100}
			s.Numbers[0].RampState = plan.RampState{Day: plan.RampDay(monday)}
		}, 29*24*time.Hour + 16*time.Hour + 9*time.Minute, "10ra 0ra 0ra", "ramp at row 11 after 6m0s"},
		{"a canary", 100, canary(50, 50), 91 * time.Minute, "50th 50th", ""},
		{"a canary with answers that take long", 100, func(s *plan.Situation) {
			canary(25, 75)(s)
			s.Past.Latency.Mean = 60
		}, 93 * time.Minute, "47th 53th", ""},
		{"a canary whose wait has begun", 100, func(s *plan.Situation) {
			canary(0, 100)(s)
			s.Runs[0].Released = monday.Add(15 * time.Minute)
		}, 75 * time.Minute, "75th 25th", ""},
		{"the rest of a canary moves to another number", 300, func(s *plan.Situation) {
			canary(50, 250)(s)
			s.Numbers = append(s.Numbers, plan.Number{ID: "b", Pace: 200.0 / 3600})
			s.Runs[0].Numbers, s.Runs[0].Move = []string{"a", "b"}, true
		}, 91 * time.Minute, "145th 155th", ""},
		{"a canary with a long wait", 100, func(s *plan.Situation) {
			canary(50, 50)(s)
			s.Runs[0].CanaryWait = 90 * time.Minute
		}, 150 * time.Minute, "50th 0pa 50th", ""},
		{"a hold", 100, func(s *plan.Situation) { s.Numbers[0].Held = monday.Add(90 * time.Minute) }, 150 * time.Minute, "0ho 50th 50th", ""},
		{"a pause", 100, func(s *plan.Situation) {
			s.Runs[0].From, s.Runs[0].Waits = monday.Add(90*time.Minute), "pause"
		}, 150 * time.Minute, "0pa 50th 50th", ""},
		{"a window", 250, func(s *plan.Situation) {
			s.Runs[0].Window = window(t, file.Window{Hours: "09:30-11:00"})
		}, 26*time.Hour + 30*time.Minute, "0wi 50th 100th 0wi 0wi", ""},
		{"a budget", 250, func(s *plan.Situation) { s.Runs[0].Budget = 150 }, 90 * time.Minute, "100th 50th", ""},
		{"not after", 250, func(s *plan.Situation) { s.Runs[0].NotAfter = monday.Add(90 * time.Minute) }, 90 * time.Minute, "100th 50th", ""},
		{"opt-outs", 250, func(s *plan.Situation) { s.Past.Dropped.Mean = 0.2 }, 2 * time.Hour, "100th 100th", ""},
		{"throttling", 200, func(s *plan.Situation) { s.Past.Throttled.Mean = 0.2 }, 150 * time.Minute, "80th 80th 40th", ""},
		{"answers that take long", 100, func(s *plan.Situation) { s.Past.Latency.Mean = 60 }, 61 * time.Minute, "100th", ""},
		{"another run", 100, func(s *plan.Situation) {
			s.Runs = append(s.Runs, plan.Run{ID: "b", Numbers: []string{"a"}, Groups: []plan.Group{{Remaining: 50}}, Budget: -1})
		}, 90 * time.Minute, "50th 50th", ""},
		{"another run of three times its weight", 100, func(s *plan.Situation) {
			s.Runs = append(s.Runs, plan.Run{ID: "b", Numbers: []string{"a"}, Groups: []plan.Group{{Remaining: 75}}, Weight: 3, Budget: -1})
		}, 105 * time.Minute, "25th 75th", ""},
		{"a run of an earlier class", 100, func(s *plan.Situation) {
			s.Runs[0].Class = campaign.ClassBulk
			s.Runs = append(s.Runs, plan.Run{ID: "b", Numbers: []string{"a"}, Groups: []plan.Group{{Remaining: 90}}, Budget: -1})
		}, 114 * time.Minute, "10sh 90th", ""},
		{"two numbers", 300, func(s *plan.Situation) {
			s.Numbers = append(s.Numbers, plan.Number{ID: "b", Pace: 200.0 / 3600})
			s.Runs[0].Numbers = []string{"a", "b"}
			s.Runs[0].Groups = []plan.Group{{Remaining: 100}, {Remaining: 200}}
		}, time.Hour, "300th", ""},
		{"two numbers and one segment", 300, func(s *plan.Situation) {
			s.Numbers = append(s.Numbers, plan.Number{ID: "b", Pace: 200.0 / 3600})
			s.Runs[0].Numbers = []string{"a", "b"}
		}, 3 * time.Hour, "100th 100th 100th", ""},
		{"two numbers, and what one has queued moves", 300, func(s *plan.Situation) {
			s.Numbers = append(s.Numbers, plan.Number{ID: "b", Pace: 200.0 / 3600})
			s.Runs[0].Numbers, s.Runs[0].Move = []string{"a", "b"}, true
		}, time.Hour, "300th", ""},
		{"two numbers and a rate for both", 300, func(s *plan.Situation) {
			s.Numbers = append(s.Numbers, plan.Number{ID: "b", Pace: 200.0 / 3600})
			s.Runs[0].Numbers, s.Runs[0].Move, s.Runs[0].Rate = []string{"a", "b"}, true, 150.0/3600
		}, 2 * time.Hour, "150ru 150ru", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := one(100, c.rows)
			c.change(s)
			f := s.Forecast(0)
			if f.Never != (c.after == 0) {
				t.Fatalf("never: got %v, want %v: %+v", f.Never, c.after == 0, f)
			}
			if got := f.Finish.Sub(s.Now); !f.Never && (got-c.after).Abs() > 5*time.Second {
				t.Errorf("finishes after %v, want %v", got, c.after)
			}
			if got := curve(f); !strings.HasPrefix(got+" ", c.curve+" ") {
				t.Errorf("hours are %s, want %s", got, c.curve)
			}
			got := ""
			if len(f.RunsOut) > 0 {
				got = fmt.Sprintf("%s at row %d after %v", f.RunsOut[0].LimitedBy, f.RunsOut[0].Row, f.RunsOut[0].At.Sub(s.Now).Round(time.Second))
			}
			if got != c.runsOut {
				t.Errorf("runs out: %q, want %q", got, c.runsOut)
			}
		})
	}
}

// A run with a deadline gets the rate that it needs, and no more while others wait.
func TestAForecastKeepsADeadline(t *testing.T) {
	s := one(100, 100)
	s.Runs[0].Launched, s.Runs[0].Deadline = monday, monday.Add(2*time.Hour)
	s.Runs = append(s.Runs, plan.Run{ID: "b", Numbers: []string{"a"}, Groups: []plan.Group{{Remaining: 5000}}, Weight: 9, Budget: -1})
	f := s.Forecast(0)
	if took := f.Finish.Sub(monday); !f.DeadlineHolds || took < 80*time.Minute || took > 2*time.Hour {
		t.Errorf("got done after %v (deadline holds: %v), want between 1h20m and 2h", took, f.DeadlineHolds)
	}
	s.Runs[0].Deadline = monday.Add(30 * time.Minute)
	if f := s.Forecast(0); f.DeadlineHolds {
		t.Errorf("100 rows at 100 an hour: got a deadline of 30 minutes that holds, done at %v", f.Finish)
	}
}

func TestAForecastSaysWhatHelpsMost(t *testing.T) {
	s := one(100, 1500)
	s.Numbers[0].Tier, s.Tiers = "p", []plan.Tier{{Name: "p", Limit: 250}}
	s.Runs[0].Window = window(t, file.Window{Hours: "08:00-16:00"})
	s.Runs[0].AssetUntil = monday.Add(24 * time.Hour)
	f := s.Forecast(0)
	if len(f.Helps) == 0 || f.Helps[0].What != "tier" || f.Helps[0].Hours < 72 {
		t.Errorf("what helps: got %+v, want a higher tier first, which saves days", f.Helps)
	}
	if slices.ContainsFunc(f.Helps, func(h plan.Help) bool { return h.What == "number" && h.Hours > 2 }) {
		t.Errorf("what helps: got %+v, want no days by a second number: the tier is the portfolio's", f.Helps)
	}
	if f.Asset == nil || f.Asset.Unsent != 1250 {
		t.Errorf("asset: got %+v, want 1250 messages after it is deleted", f.Asset)
	}
}

// The band is wider where the past was uneven, and holds the finish.
func TestABandIsAsWideAsThePastWasUneven(t *testing.T) {
	width := func(deviation float64) time.Duration {
		s := one(1000, 10_000)
		s.Past.Throttled = plan.Average{Mean: 0.10, Deviation: deviation}
		f := s.Forecast(0)
		if f.Low.After(f.Finish) || f.High.Before(f.Finish) {
			t.Errorf("deviation %g: got finish %v outside its band %v to %v", deviation, f.Finish, f.Low, f.High)
		}
		if again := s.Forecast(0); !again.Low.Equal(f.Low) || !again.High.Equal(f.High) {
			t.Errorf("got %v to %v at a second time, want %v to %v", again.Low, again.High, f.Low, f.High)
		}
		return f.High.Sub(f.Low)
	}
	if narrow, wide := width(0.001), width(0.05); wide < 3*narrow {
		t.Errorf("bands of %v and %v, want the second three times as wide or more", narrow, wide)
	}
}

// Every row is counted once, whatever limits it.
func TestAForecastLosesNoRow(t *testing.T) {
	s := large(7, 3, 20_000)
	for i := range s.Runs {
		var rows, hours, numbers int64
		for _, g := range s.Runs[i].Groups {
			rows += g.Remaining
		}
		f := s.Forecast(i)
		for _, h := range f.Hours {
			hours += h.Messages
		}
		for _, n := range f.Numbers {
			numbers += n.Messages
		}
		if f.Never || f.Messages != rows || hours != rows || math.Abs(float64(numbers-rows)) > 3 {
			t.Errorf("run %d: got %d messages, %d by hours, %d by numbers (never: %v), want %d of each",
				i, f.Messages, hours, numbers, f.Never, rows)
		}
	}
}

// large is a situation of many runs, numbers and rows, with a window, a tier and an allowance.
func large(runs, numbers int, rows int64) *plan.Situation {
	s := &plan.Situation{Now: monday, Tiers: []plan.Tier{{Name: "p", Limit: 100_000}},
		Allowances: []plan.Quota{{Name: "plan", Allowance: month(2_000_000, 0)}},
		Past:       plan.Past{Throttled: plan.Average{Mean: 0.01, Deviation: 0.005}}}
	var ids []string
	for i := range numbers {
		ids = append(ids, fmt.Sprint("conn_", i))
		s.Numbers = append(s.Numbers, plan.Number{ID: ids[i], Pace: 10 + float64(i), Tier: "p", Allowance: "plan"})
	}
	zones := []*time.Location{time.FixedZone("a", 3600), time.FixedZone("b", -5*3600), time.FixedZone("c", 9*3600)}
	office, err := plan.ParseWindow(file.Window{Hours: "09:00-18:00", Timezone: "recipient"})
	if err != nil {
		panic(err)
	}
	s.Past.Throttled = plan.Average{}
	for i := range runs {
		r := plan.Run{
			ID: fmt.Sprint("run-", i), Numbers: ids[:1+i%numbers], Budget: -1,
			Weight: float64(1 + i%3), Class: []campaign.Class{campaign.ClassTransactional, campaign.ClassBulk}[i%2], Window: office,
		}
		for left := rows / int64(runs); left > 0; left -= campaign.SegmentSize {
			r.Groups = append(r.Groups, plan.Group{Remaining: min(left, campaign.SegmentSize), Zones: zones[len(r.Groups)%len(zones):][:1]})
		}
		s.Runs = append(s.Runs, r)
	}
	return s
}

// BenchmarkForecast forecasts one of 50 runs with 1,000,000 rows over 20 numbers, with its band and
// what helps.
func BenchmarkForecast(b *testing.B) {
	s := large(50, 20, 1_000_000)
	for b.Loop() {
		if f := s.Forecast(49); f.Never {
			b.Fatal("never, want a finish")
		}
	}
}

// canary divides the first run into a canary and what waits for it, half an hour and a minute.
func canary(first, rest int64) func(*plan.Situation) {
	return func(s *plan.Situation) {
		s.Runs[0].CanaryWait = 31 * time.Minute
		s.Runs[0].Groups = []plan.Group{{Remaining: first}, {Remaining: rest, AfterCanary: true}}
	}
}

// A launch divides a list as an import does: into segments for each connection, with those of the
// canary first.
func TestALaunchIsDividedLikeAnImport(t *testing.T) {
	def := &file.Definition{Connections: []string{"a", "b"}}
	zones := map[string]int64{"UTC": 3000, "Africa/Lagos": 1000}
	count := func() (canary, rest, largest int64) {
		all, err := plan.Blocks(def, zones)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range all {
			if largest = max(largest, g.Remaining); g.AfterCanary {
				rest += g.Remaining
			} else {
				canary += g.Remaining
			}
		}
		return canary, rest, largest
	}
	if all, rest, largest := count(); all != 4000 || rest != 0 || largest != 500 {
		t.Errorf("without a canary: got %d rows, %d that wait, segments of up to %d; want 4000, 0 and 500", all, rest, largest)
	}
	def.Policies.Canary = &file.Canary{Count: 200}
	if first, rest, largest := count(); first != 200 || rest != 3800 || largest != 500 {
		t.Errorf("with a canary: got %d rows, %d that wait, segments of up to %d; want 200, 3800 and 500", first, rest, largest)
	}
}
