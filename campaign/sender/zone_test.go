package sender

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
)

// Recipients whose time zone this machine does not know are sent to by the campaign's clock. One
// warning says so, and the other segments of the number go on.
func TestAnUnknownZoneFallsBackToTheCampaigns(t *testing.T) {
	window, err := plan.ParseWindow(file.Window{Hours: "09:00-18:00", Timezone: "recipient"})
	if err != nil {
		t.Fatal(err)
	}
	lagos, err := time.LoadLocation("Africa/Lagos") // an hour ahead of UTC
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	l := &parkLedger{}
	e, err := New(l, nil, nil, Options{Owner: "a", Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorker(e, "conn_1")
	r := &run{no: 1, window: window, zone: lagos, connections: []string{"conn_1"}}
	w.planner.setRuns([]*run{r})
	now := time.Date(2026, 1, 5, 8, 30, 0, 0, time.UTC)
	for i, group := range []string{"Mars/Olympus", "Mars/Olympus", "Europe/London", ""} {
		lease := campaign.Lease{Segment: campaign.Segment{Index: int64(i), Group: group, Hi: 9}, Until: now.Add(time.Hour)}
		if err := w.planner.claimer.take(t.Context(), r, lease, now); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.planner.claimer.giveBack(t.Context(), w.planner.activeRuns(), now); err != nil {
		t.Errorf("giveBack: %v, want nil", err)
	}
	var open []int64
	for _, s := range w.planner.claimer.segments {
		if w.planner.postable(s, now) {
			open = append(open, s.lease.Index)
		}
	}
	if len(open) != 3 || len(l.parked) != 1 || !l.parked[0].Equal(now.Add(30*time.Minute)) {
		t.Errorf("open: %v, parked until %v, want 0, 1 and 3, and London's until 09:00", open, l.parked)
	}
	const said = `zone=Mars/Olympus instead=Africa/Lagos err="time zone \"Mars/Olympus\" is not known`
	if n := strings.Count(log.String(), said); n != 1 || strings.Count(log.String(), "level=WARN") != 1 {
		t.Errorf("got %d warnings, want one:\n%s", n, log.String())
	}
}
