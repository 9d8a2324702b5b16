package daemon

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/config"
)

// A deadline that cannot be met is reported before the launch, with what limits the run. One that
// can be met is not.
func TestADeadlineThatCannotBeMetIsSaid(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, limits, window, binds string
		rows                        int64
	}{
		{"it can", "{deadline: 1h}", "", "", 1000},
		{"no deadline", "{rate: 1}", "", "", 1_000_000},
		{"the number is too slow", "{deadline: 1h}", "", "limited by throughput", 1_000_000},
		{"its own rate is too low", "{deadline: 1h, rate: 0.1}", "", "limited by run_rate", 1000},
		{"its window is closed", "{deadline: 1h}", "{hours: \"18:00-20:00\"}", "limited by window", 1000},
	} {
		source := "name: sale\nconnections: [conn_1]\ntemplate: {name: sale, language: en_US, category: UTILITY}\nlimits: " + tt.limits + "\n"
		if tt.window != "" {
			source += "window: " + tt.window + "\n"
		}
		def, err := file.Parse("sale.yaml", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		p := &launch.Preflight{Rows: tt.rows, Sendable: tt.rows, Zones: map[string]int64{"": tt.rows}}
		if err := checkForecast(t.Context(), config.Default(), nil, nil, def, p, false, now); err != nil {
			t.Fatal(err)
		}
		if said := len(p.Findings) > 0; said != (tt.binds != "") || said && !strings.Contains(p.Findings[0].What, tt.binds) {
			t.Errorf("%s: got %+v, want %q", tt.name, p.Findings, tt.binds)
		}
	}
}
