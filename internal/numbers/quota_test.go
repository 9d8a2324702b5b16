package numbers

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/numbers/numberstest"
)

// The day of a ramp is decided once by all replicas, follows the quality, and survives a restart.
func TestARampFollowsDaysAndQuality(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "r.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := config.Default()
	cfg.Numbers = map[string]config.Number{"a": {Ramp: &config.Ramp{Start: 100, Step: 50, Ceiling: 500}}, "b": {}}
	spent := &spending{Ledger: l, n: map[string]int64{"a": 1}, from: time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)}
	replica := func() (*Quotas, *Directory) {
		d := NewDirectory(cfg)
		numberstest.Tell(t, d, nil)
		return NewQuotas(cfg, d, spent, slog.New(slog.DiscardHandler)), d
	}
	first, d := replica()
	second, other := replica()
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var got []string
	for _, quality := range []string{"GREEN", "GREEN", "YELLOW", "GREEN", "RED", "RED", "GREEN"} {
		numberstest.Tell(t, d, map[string]string{"a": quality})
		numberstest.Tell(t, other, map[string]string{"a": quality})
		if one := first.ForConnection("a", day); len(one) != 1 || !one[0].Unknown {
			t.Errorf("before the day is decided: got %+v, want nothing known", one)
		}
		for _, q := range []*Quotas{first, second, first} {
			if err := q.decide(t.Context(), day); err != nil {
				t.Fatal(err)
			}
		}
		third, e := replica()
		numberstest.Tell(t, e, map[string]string{"a": quality})
		if err := third.decide(t.Context(), day); err != nil {
			t.Fatal(err)
		}
		for _, q := range []*Quotas{first, second, third} {
			if one := q.ForConnection("a", day); len(one) != 1 || one[0].Limit != first.ForConnection("a", day)[0].Limit || one[0].Key != "ramp:a" {
				t.Errorf("a replica has %+v, want the places of the first", one)
			}
		}
		got = append(got, fmt.Sprint(first.ForConnection("a", day)[0].Limit))
		day, spent.from = day.AddDate(0, 0, 1), spent.from.AddDate(0, 0, 1)
	}
	if want := "[100 150 150 200 150 100 150]"; fmt.Sprint(got) != want {
		t.Errorf("places by day: got %v, want %s", got, want)
	}
	if all := first.ForConnection("b", day); len(all) != 0 {
		t.Errorf("a number without a ramp has the quotas %+v, want none", all)
	}
}

// spending is a ledger that counts n, and nothing on another day than that which begins at from, if
// it is set.
type spending struct {
	campaign.Ledger
	n     map[string]int64
	from  time.Time
	ramps map[string]campaign.RampState
}

func (s *spending) Spent(_ context.Context, from time.Time) (map[string]int64, error) {
	if !s.from.IsZero() && !from.Equal(s.from) {
		return nil, nil
	}
	return s.n, nil
}

func (s *spending) Ramps(ctx context.Context) (map[string]campaign.RampState, error) {
	if s.ramps == nil {
		return s.Ledger.Ramps(ctx)
	}
	return s.ramps, nil
}

func (s *spending) SetPlan(context.Context, int64) (int64, error) { return 0, nil }

func (s *spending) SetRamp(ctx context.Context, connection string, before, next campaign.RampState) (bool, error) {
	if s.ramps == nil {
		return s.Ledger.SetRamp(ctx, connection, before, next)
	}
	s.ramps[connection] = next
	return true, nil
}

// The process that serves decides the day of a ramp itself, within seconds of midnight in UTC.
func TestARampIsDecidedWhileItServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins at midnight
		cfg := config.Default()
		cfg.Numbers = map[string]config.Number{"a": {Ramp: &config.Ramp{Start: 100, Step: 50, Ceiling: 500}}}
		d := NewDirectory(cfg)
		numberstest.Tell(t, d, map[string]string{"a": "GREEN"})
		l := &spending{n: map[string]int64{"a": 1}, ramps: map[string]campaign.RampState{}}
		q := NewQuotas(cfg, d, l, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		go q.Run(ctx)
		for _, want := range []int64{100, 150, 200} {
			time.Sleep(2 * decideEvery)
			synctest.Wait()
			if one := q.ForConnection("a", time.Now()); len(one) != 1 || one[0].Unknown || one[0].Limit != want {
				t.Errorf("%s: got %+v, want %d messages", time.Now().Format(time.DateOnly), one, want)
			}
			time.Sleep(24*time.Hour - 2*decideEvery)
		}
	})
}

// An allowance is that of a company; a ramp is that of a number; what has no connection counts for
// all.
func TestUnitsAreCountedInTheirScope(t *testing.T) {
	cfg := config.Default()
	cfg.Plan.MonthlyMessages = 1000
	cfg.Numbers = map[string]config.Number{"a": {Company: "co", Account: "x", Ramp: &config.Ramp{Start: 10, Ceiling: 10}},
		"b": {Company: "co", Account: "x"}, "c": {Company: "other", Account: "x"}}
	d := NewDirectory(cfg)
	q := NewQuotas(cfg, d, &spending{n: map[string]int64{"a": 1, "b": 20, "c": 300, "": 4000}}, slog.New(slog.DiscardHandler))
	now := time.Now()
	q.ramps["a"] = campaign.RampState{Day: plan.RampDay(now)}
	if err := q.count(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range q.Known(now) {
		got = append(got, fmt.Sprint(u.Key, " ", u.Limit, " ", u.Kept, " ", u.Used))
	}
	if want := "[plan:co 1000 50 4021 ramp:a 10 0 4001 plan:other 1000 50 4300]"; fmt.Sprint(got) != want {
		t.Errorf("quotas: got %v, want %s", got, want)
	}
	from, _ := q.month(now)
	if got := q.PlanEnds("a", from.Add(time.Minute)); !got.Equal(from.Add(time.Minute + clocksDiffer)) {
		t.Errorf("a 402 just after the turn holds until %v, want %v more", got, clocksDiffer)
	}
	cfg.Numbers = nil
	if all := q.ForConnection("z", now); len(all) != 1 || !all[0].Unknown {
		t.Errorf("before the connections are known: got %+v, want an unknown allowance", all)
	}
}
