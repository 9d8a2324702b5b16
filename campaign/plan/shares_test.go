package plan

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"

	"pgregory.net/rapid"
)

var launched = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// Six runs of one number: what comes first gets what it needs, and the rest goes by weight.
func TestANumberIsSharedInThreeSteps(t *testing.T) {
	soon, late := launched.Add(10*time.Minute), launched.Add(time.Hour)
	for _, tt := range []struct {
		name  string
		wants []Want
		want  []float64 // of a pace of 100
	}{
		{"nobody", nil, nil},
		{"one", []Want{{}}, []float64{100}},
		{"one with a rate of its own", []Want{{Rate: 30}}, []float64{30}},
		{"two", []Want{{}, {}}, []float64{50, 50}},
		{"weights", []Want{{Weight: 1}, {Weight: 3}}, []float64{25, 75}},
		{"what one cannot use is shared", []Want{{Rate: 10}, {}, {Weight: 2}}, []float64{10, 30, 60}},
		{"a class comes first", []Want{{Class: campaign.ClassBulk}, {}}, []float64{5, 95}},
		{"a class that is satisfied", []Want{{Class: campaign.ClassBulk}, {Rate: 20}, {Class: campaign.ClassBulk}}, []float64{40, 20, 40}},
		{"a deadline", []Want{{Need: 70, Deadline: soon}, {}}, []float64{70, 30}},
		{"a deadline within its share", []Want{{Need: 20, Deadline: soon}, {}}, []float64{50, 50}},
		{"the earliest deadline first", []Want{{Need: 60, Deadline: late}, {Need: 60, Deadline: soon}, {}},
			[]float64{100.0 - 60 - 10.0/3, 60, 10.0 / 3}},
		{"the floor", []Want{{Need: 500, Deadline: soon}, {Weight: 3}}, []float64{92.5, 7.5}},
		{"a deadline of the second class", []Want{{Class: campaign.ClassBulk, Need: 50, Deadline: soon}, {}}, []float64{5, 95}},
	} {
		got := Shares(100, tt.wants)
		if !slices.EqualFunc(got, tt.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%s: got %.2f, want %.2f", tt.name, got, tt.want)
		}
	}
	if got := Shares(0, []Want{{}}); got[0] != 0 {
		t.Errorf("without a pace: got %v, want 0", got)
	}
}

// drawWants draws up to ten runs.
func drawWants(t *rapid.T) []Want {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Want {
		w := Want{Class: rapid.SampledFrom([]campaign.Class{campaign.ClassTransactional, campaign.ClassBulk}).Draw(t, "class"),
			Weight: float64(rapid.IntRange(0, 8).Draw(t, "weight"))}
		if rapid.Bool().Draw(t, "limited") {
			w.Rate = rapid.Float64Range(0.1, 150).Draw(t, "rate")
		}
		if rapid.Bool().Draw(t, "hasty") {
			w.Need = rapid.Float64Range(0.1, 90).Draw(t, "need")
			w.Deadline = launched.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "deadline")) * time.Minute)
		}
		return w
	}), 1, 10).Draw(t, "wants")
}

// Whatever runs meet, the pace is used and kept, nobody is below the floor, and precedence holds.
func TestSharesKeepTheirRulesForAnyMix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const pace, little = 100.0, 1e-6
		wants := drawWants(t)
		got := Shares(pace, wants)
		var sum, use, weights float64
		for _, w := range wants {
			use, weights = use+w.most(pace), weights+w.weight()
		}
		for i, w := range wants {
			sum += got[i]
			floor := min(w.most(pace), floor*pace*w.weight()/weights)
			if got[i] < floor-little || got[i] > w.most(pace)+little {
				t.Fatalf("run %d gets %v, want from %v to %v", i, got[i], floor, w.most(pace))
			}
			for j, o := range wants {
				floorOf := min(o.most(pace), floor*pace*o.weight()/weights)
				switch satisfied := got[i] > w.most(pace)-little; {
				case satisfied:
				case w.rank() < o.rank() && got[j] > floorOf+little:
					t.Fatalf("run %d of the first class could use more than %v, and run %d of the second gets %v, want its floor of %v", i,
						got[i], j, got[j], floorOf)
				case w.Class == o.Class && got[i] < w.Need-little && got[j] > floorOf+little && !(o.Need > 0 && !o.Deadline.After(w.Deadline)):
					t.Fatalf("run %d gets %v and needs %v, and run %d, which can wait, gets %v, want its floor of %v", i, got[i], w.Need, j,
						got[j], floorOf)
				case w.Class == o.Class && got[j]/o.weight() > got[i]/w.weight()+little && got[j] > max(o.Need, floorOf)+little:
					t.Fatalf("run %d gets %v by weight %v, run %d %v by weight %v, want no more for its weight", i, got[i], w.weight(), j,
						got[j], o.weight())
				}
			}
		}
		if want := min(pace, use); math.Abs(sum-want) > little {
			t.Fatalf("the runs get %v, want %v", sum, want)
		}
	})
}

// Deadlines that 90 % of the pace can meet are met, whatever else wants the number.
func TestNoFeasibleDeadlineIsMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const pace, step = 50.0, 2.0 // messages per second, seconds
		type job struct{ left, until, end float64 }
		var jobs []job
		sum, until := 0.0, 0.0
		for range rapid.IntRange(1, 5).Draw(t, "jobs") { // in the order of their deadlines
			until += float64(rapid.IntRange(2, 40).Draw(t, "minutes") * 60)
			end := until - deadlineMargin(time.Duration(until*1e9)).Seconds()
			spare := (1-floor)*pace*end - sum
			if spare < 1 {
				continue
			}
			work := rapid.Float64Range(1, spare).Draw(t, "work")
			sum += work
			jobs = append(jobs, job{work, until, 0})
		}
		others := rapid.IntRange(0, 5).Draw(t, "others")
		weight := float64(rapid.IntRange(1, 8).Draw(t, "weight"))
		for at := 0.0; at < until; at += step {
			now := launched.Add(time.Duration(at * 1e9))
			var wants []Want
			var whose []int
			for i, j := range jobs {
				if j.left <= 0 {
					continue
				}
				d := launched.Add(time.Duration(j.until * 1e9))
				need := JustEnough(now, launched, d, nil, Group{Remaining: int64(math.Ceil(j.left))})
				wants, whose = append(wants, Want{Need: need, Deadline: d}), append(whose, i)
			}
			for range others {
				wants = append(wants, Want{Weight: weight})
			}
			for k, rate := range Shares(pace, wants)[:len(whose)] {
				j := &jobs[whose[k]]
				if j.left -= rate * step; j.left <= 0 {
					j.end = at + step
				}
			}
		}
		for _, j := range jobs {
			if j.left > 0 || j.end > j.until {
				t.Fatalf("%v are left at the deadline of %vs, the end is %vs, want it met: %+v", j.left, j.until, j.end, jobs)
			}
		}
	})
}

// A need counts only the time in which the window is open, and ends with the deadline.
func TestANeedCountsTheOpenTime(t *testing.T) {
	day, err := ParseWindow(file.Window{Hours: "09:00-11:00"})
	if err != nil {
		t.Fatal(err)
	}
	tokyo, err := Zone("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	local, err := ParseWindow(file.Window{Hours: "09:00-11:00", Timezone: "recipient"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name         string
		at, deadline time.Duration // since launch at 9:00
		window       *Window
		groups       []Group
		want         float64
		margin       string
	}{
		{"always open", 0, 100 * time.Minute, nil, []Group{{Remaining: 5700}}, 1, "5m0s"},
		{"30 s at least", 0, 5 * time.Minute, nil, []Group{{Remaining: 270}}, 1, "30s"},
		{"a fifth at most", 0, time.Minute, nil, []Group{{Remaining: 48}}, 1, "12s"},
		{"within the margin", 55 * time.Second, time.Minute, nil, []Group{{Remaining: 50}}, 10, "12s"},
		{"the deadline has passed", time.Minute, time.Minute, nil, []Group{{Remaining: 50}}, 0, "12s"},
		{"two days of a window", time.Hour, 48 * time.Hour, day, []Group{{Remaining: 10800}}, 1, "2h24m0s"},
		{"the window is closed", 3 * time.Hour, 48 * time.Hour, day, []Group{{Remaining: 10800}}, 0, "2h24m0s"},
		{"zones", 0, 24 * time.Hour, local, []Group{{Remaining: 7200, Zones: []*time.Location{time.UTC}},
			{Remaining: 7200, Zones: []*time.Location{tokyo}}}, 1, "1h12m0s"},
	} {
		got := JustEnough(launched.Add(tt.at), launched, launched.Add(tt.deadline), tt.window, tt.groups...)
		if m := deadlineMargin(tt.deadline); fmt.Sprint(m) != tt.margin || math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: needs %v/s with a margin of %v, want %v, %s", tt.name, got, m, tt.want, tt.margin)
		}
	}
}
