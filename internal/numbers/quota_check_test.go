package numbers

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/config"
)

func TestCheckWarnsOfAListAboveItsQuotas(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		sendable  int64
		marketing bool
		spent     int64
		ramped    bool
		want      string // of each finding
	}{
		{1000, false, 0, false, ""},
		{1000, true, 0, false, "the plan has 950 messages left until 1 Apr 2026 00:00 UTC, less than the list"},
		{100, true, 851, false, "the plan has 99 messages left until 1 Apr 2026 00:00 UTC, less than the list"},
		{31, false, 0, true, "the warm-up of its numbers allows 30 messages today, less than the list"},
		{30, false, 0, true, ""},
	} {
		cfg := config.Default()
		cfg.Plan.MonthlyMessages = 1000
		if tt.ramped {
			cfg.Numbers = map[string]config.Number{"a": {Ramp: &config.Ramp{Start: 10, Step: 10, Ceiling: 100}}}
		}
		l := &spending{n: map[string]int64{"a": tt.spent}, ramps: map[string]campaign.RampState{"a": {Day: plan.RampDay(now) - 1, Steps: 1}}}
		p := &launch.Preflight{Sendable: tt.sendable, Marketing: tt.marketing, Connections: []launch.ConnectionCheck{{ID: "a"}}}
		if err := CheckQuotas(t.Context(), NewQuotas(cfg, NewDirectory(cfg), l, slog.New(slog.DiscardHandler)), p, now); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range p.Findings {
			got = append(got, f.What)
		}
		if s := strings.Join(got, "; "); s != tt.want {
			t.Errorf("%+v: got %q, want %q", tt, s, tt.want)
		}
	}
	p := &launch.Preflight{Sendable: 10}
	q := NewQuotas(config.Default(), NewDirectory(config.Default()), nil, slog.New(slog.DiscardHandler))
	if err := CheckQuotas(t.Context(), q, p, now); err != nil || len(p.Findings) > 0 {
		t.Errorf("without a plan: got %v and %v, want nothing", p.Findings, err)
	}
}
