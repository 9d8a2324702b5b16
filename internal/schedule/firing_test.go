package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

// noted is what a test compares of a noted firing.
type noted struct {
	Key     string
	Outcome campaign.FiringOutcome
	Detail  string
	Missed  int64
}

// hourly reads a campaign that fires at each full hour.
func hourly(t *testing.T, more string) Scheduled {
	t.Helper()
	s, err := readScheduled(write(t, "spring.yaml", springFile+"schedule: {cron: \"0 * * * *\", timezone: UTC"+more+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// decided is what a test compares of a step.
type decided struct {
	Notes  []noted
	Launch string
	Cancel int
}

func (w firings) decided(s Scheduled, now time.Time) (d decided) {
	step := w.next(s, now)
	for _, f := range step.note {
		d.Notes = append(d.Notes, noted{f.Key, f.Outcome, f.Detail, f.Missed})
	}
	if step.launch {
		d.Launch = step.open.Key
	}
	d.Cancel = len(step.cancel)
	return d
}

// Each hour has one firing; nine is one of them. The launch of the open firing of eight could begin
// 20 minutes late only, so that no time can be taken for the other.
func TestEachFiringHasOneOutcome(t *testing.T) {
	nine := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	const eightKey, nineKey = "2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z"
	busy := []campaign.Run{{No: 3, Campaign: "spring", State: campaign.Running}}
	open := func(o campaign.FiringOutcome, detail string) []campaign.Firing {
		at := nine.Add(-time.Hour)
		return []campaign.Firing{{Campaign: "spring", Key: eightKey, At: at, Since: at.Add(20 * time.Minute), Outcome: o, Detail: detail}}
	}
	const running = "spring-3 is running (`campaignd why spring-3`)"
	for _, tt := range []struct {
		name, schedule string
		w              firings
		now            time.Time
		want           decided
	}{
		{"nothing due", "", firings{after: nine}, nine.Add(time.Minute), decided{}},
		{"in time", "", firings{after: nine.Add(-time.Hour)}, nine.Add(time.Minute),
			decided{Notes: []noted{{nineKey, campaign.FiringLaunching, "", 0}}, Launch: nineKey}},
		{"late, skip", "", firings{after: nine.Add(-3 * time.Hour)}, nine.Add(149 * time.Second),
			decided{Notes: []noted{{nineKey, campaign.FiringMissed, "no process fired it in time; first seen 2m29s late", 2}}}},
		{"late, run", ", misfire: run, grace: 10m", firings{after: nine.Add(-3 * time.Hour)}, nine.Add(10 * time.Minute),
			decided{Notes: []noted{{nineKey, campaign.FiringLaunching, "", 2}}, Launch: nineKey}},
		{"too late, run", ", misfire: run, grace: 1m", firings{after: nine.Add(-time.Hour)}, nine.Add(194 * time.Second),
			decided{Notes: []noted{{nineKey, campaign.FiringMissed, "no process fired it in time; first seen 3m14s late", 0}}}},
		{"launched by another replica", "", firings{after: nine, open: open(campaign.FiringLaunching, ""),
			launched: map[string]campaign.RunNo{eightKey: 3}, unfinished: busy}, nine.Add(time.Second),
			decided{Notes: []noted{{eightKey, campaign.FiringLaunched, "", 0}}}},
		{"its launch is tried again", "", firings{after: nine.Add(-time.Hour), open: open(campaign.FiringLaunching, "away")},
			nine.Add(-30 * time.Minute),
			decided{Launch: eightKey}},
		{"its launch is tried again, long after it was due", "",
			firings{after: nine.Add(-time.Hour), open: open(campaign.FiringLaunching, "away")},
			nine.Add(-15 * time.Minute),
			decided{Launch: eightKey}},
		{"a quarantine before its launch could begin", "", firings{after: nine.Add(-time.Hour), open: open(campaign.FiringLaunching, ""),
			quarantined: nine.Add(-50 * time.Minute)}, nine.Add(-30 * time.Minute),
			decided{Launch: eightKey}},
		{"a quarantine since its launch could begin", "", firings{after: nine.Add(-time.Hour), open: open(campaign.FiringLaunching, ""),
			quarantined: nine.Add(-35 * time.Minute)}, nine.Add(-30 * time.Minute),
			decided{Notes: []noted{{eightKey, campaign.FiringMissed, lostDetail, 0}}}},
		{"overlap: cancel, while the one before is launched", ", overlap: cancel, grace: 2h",
			firings{after: nine.Add(-time.Hour), open: open(campaign.FiringLaunching, "")}, nine,
			decided{Notes: []noted{{nineKey, campaign.FiringSkipped, "the firing of 2026-11-20T08:00:00Z is being launched", 0}},
				Launch: eightKey}},
		{"its launch failed too long", "", firings{after: nine.Add(-time.Hour), open: open(campaign.FiringLaunching, "away")},
			nine.Add(-time.Second),
			decided{Notes: []noted{{eightKey, campaign.FiringFailed, "no launch succeeded within its grace of 30m: away", 0}}}},
		{"while the one before is launched", ", grace: 2h", firings{after: nine.Add(-time.Hour), open: open(campaign.FiringLaunching, "")}, nine,
			decided{Notes: []noted{{nineKey, campaign.FiringSkipped, "the firing of 2026-11-20T08:00:00Z is being launched", 0}},
				Launch: eightKey}},
		{"overlap: skip", "", firings{after: nine.Add(-time.Hour), unfinished: busy}, nine,
			decided{Notes: []noted{{nineKey, campaign.FiringSkipped, running, 0}}}},
		{"overlap: queue", ", overlap: queue", firings{after: nine.Add(-time.Hour), unfinished: busy}, nine,
			decided{Notes: []noted{{nineKey, campaign.FiringWaiting, running, 0}}}},
		{"overlap: queue, behind another", ", overlap: queue",
			firings{after: nine.Add(-time.Hour), unfinished: busy, open: open(campaign.FiringWaiting, running)}, nine,
			decided{Notes: []noted{{nineKey, campaign.FiringSkipped, running + ", and the firing of 2026-11-20T08:00:00Z waits already", 0}}}},
		{"overlap: queue, the run has ended", ", overlap: queue",
			firings{after: nine, open: open(campaign.FiringWaiting, running)}, nine.Add(59 * time.Minute),
			decided{Notes: []noted{{eightKey, campaign.FiringLaunching, "", 0}}, Launch: eightKey}},
		{"overlap: cancel", ", overlap: cancel", firings{after: nine.Add(-time.Hour), unfinished: busy}, nine,
			decided{Notes: []noted{{nineKey, campaign.FiringWaiting, running, 0}}, Cancel: 1}},
		{"overlap: cancel, another waits", ", overlap: cancel",
			firings{after: nine.Add(-time.Hour), unfinished: busy, open: open(campaign.FiringWaiting, running)}, nine,
			decided{Notes: []noted{{eightKey, campaign.FiringSkipped, "a later firing has taken its place", 0},
				{nineKey, campaign.FiringWaiting, running, 0}}, Cancel: 1}},
		{"overlap: cancel, the run has ended", ", overlap: cancel",
			firings{after: nine, open: open(campaign.FiringWaiting, running)}, nine.Add(time.Minute),
			decided{Notes: []noted{{eightKey, campaign.FiringLaunching, "", 0}}, Launch: eightKey}},
	} {
		if diff := cmp.Diff(tt.want, tt.w.decided(hourly(t, tt.schedule), tt.now)); diff != "" {
			t.Errorf("%s: step -want +got:\n%s", tt.name, diff)
		}
	}
}

// wantLooks compares what is launched at each instant, in order: the key of the firing, "" for
// none.
func (c *scene) wantLooks(s Scheduled, looks ...[2]string) {
	c.Helper()
	for _, look := range looks {
		now, err := time.Parse(time.RFC3339, look[0])
		if err != nil {
			c.Fatal(err)
		}
		f, err := c.schedule.Look(c.Context(), s, now)
		if err != nil {
			c.Fatal(err)
		}
		key := ""
		if f != nil {
			key = f.Key
			f.Outcome = campaign.FiringLaunched
			if err := c.schedule.note(c.Context(), *f, false); err != nil {
				c.Fatal(err)
			}
		}
		if key != look[1] {
			c.Errorf("%s at %s: got the firing %q, want %q", s.Cron, look[0], key, look[1])
		}
	}
}

// scheduledAt is a campaign with a schedule whose file was written at a time.
func scheduledAt(t *testing.T, written, schedule string) Scheduled {
	t.Helper()
	s, err := parseScheduled("spring.yaml", []byte(springFile+"schedule: {"+schedule+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Written, err = time.Parse(time.RFC3339, written); err != nil {
		t.Fatal(err)
	}
	return s
}

// A pod that starts again has a new file of the same schedule, whose firings of the outage are
// caught up. Another schedule counts from when it was written.
func TestAFileWrittenAnewForgetsNoFiring(t *testing.T) {
	c := newScene(t)
	const nine = "cron: '0 9 * * *', misfire: run, grace: 2h"
	c.wantLooks(scheduledAt(t, "2026-03-01T10:00:00Z", nine), [2]string{"2026-03-02T08:00:00Z", ""})
	c.wantLooks(scheduledAt(t, "2026-03-02T09:30:00Z", nine), [2]string{"2026-03-02T09:30:05Z", "2026-03-02T09:00"},
		[2]string{"2026-03-02T09:30:10Z", ""})
	early := scheduledAt(t, "2026-03-03T08:30:00Z", "cron: '0 8 * * *', misfire: run, grace: 2h")
	c.wantLooks(early, [2]string{"2026-03-03T08:30:05Z", ""}, [2]string{"2026-03-04T08:00:02Z", "2026-03-04T08:00"})
}

func TestASingleTimeFiresOnce(t *testing.T) {
	c := newScene(t)
	once := scheduledAt(t, "2026-03-01T10:00:00Z", "at: 2026-03-02T09:00")
	c.wantLooks(once, [2]string{"2026-03-02T08:59:58Z", ""}, [2]string{"2026-03-02T09:00:03Z", "2026-03-02T09:00:00"},
		[2]string{"2026-03-02T09:00:08Z", ""}, [2]string{"2026-03-03T09:00:00Z", ""})
	// The file may be younger than its time: then it is missed, or launched within its grace.
	c.wantLooks(scheduledAt(t, "2026-03-02T12:30:00Z", "at: 2026-03-02T12:00"), [2]string{"2026-03-02T12:30:05Z", ""})
	c.wantLooks(scheduledAt(t, "2026-03-02T13:10:00Z", "at: 2026-03-02T13:00, misfire: run"),
		[2]string{"2026-03-02T13:10:05Z", "2026-03-02T13:00:00"}, [2]string{"2026-03-02T13:10:10Z", ""})
	all, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "spring", Outcome: campaign.FiringMissed})
	if err != nil || len(all) != 1 || all[0].Key != "2026-03-02T12:00:00" {
		t.Errorf("missed firings: got %+v and %v, want that of 12:00", all, err)
	}
}
