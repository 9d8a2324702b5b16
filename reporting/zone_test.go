package reporting

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

// People read the clock of their campaign, and scripts read UTC.
func TestAReportHasTheCampaignsClockToo(t *testing.T) {
	const minimal = "name: a\nconnections: [conn_1]\ntemplate: {name: t, language: en}\nrecipients: {columns: {to: phone}}\n"
	for _, tt := range []struct{ more, zone, want string }{
		{"window: {hours: \"09:00-18:00\", timezone: Africa/Lagos}\n", "Africa/Lagos",
			"2026-11-02 23:30:00 UTC (2026-11-03 00:30:00 Africa/Lagos)"},
		{"window: {hours: \"09:00-18:00\", timezone: recipient}\nschedule: {cron: \"0 9 * * *\", timezone: Asia/Kolkata}\n", "Asia/Kolkata",
			"2026-11-02 23:30:00 UTC (2026-11-03 05:00:00 Asia/Kolkata)"},
		{"schedule: {cron: \"0 9 * * *\", timezone: UTC}\n", "", "2026-11-02 23:30:00 UTC\n"},
		{"", "", "2026-11-02 23:30:00 UTC\n"},
	} {
		run := campaign.Run{No: 1, Campaign: "a", Definition: []byte(minimal + tt.more),
			CreatedAt: time.Date(2026, 11, 2, 23, 30, 0, 0, time.UTC)}
		r := &Report{Run: factsOf(run)}
		var table strings.Builder
		if err := r.Table(&table, 0); err != nil {
			t.Fatal(err)
		}
		if r.Run.Timezone != tt.zone || !strings.Contains(table.String(), tt.want) {
			t.Errorf("%q: got the zone %q and\n%s\nwant %q and %q", tt.more, r.Run.Timezone, &table, tt.zone, tt.want)
		}
	}
}
