package daemon

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

// lookAndFire launches the firing of s that is to be launched now.
func (d *Daemon) lookAndFire(ctx context.Context, s Scheduled, e *sender.Engine) error {
	f, err := d.schedule.look(ctx, s, time.Now())
	if err != nil || f == nil {
		return err
	}
	return d.schedule.fireOnce(ctx, s, *f, e)
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

// outcome is what a test compares of a noted firing.
type outcome struct {
	Key     string
	Outcome campaign.FiringOutcome
	Detail  string
	Missed  int64
}

// decided is what a test compares of a step.
type decided struct {
	Notes  []outcome
	Launch string
	Cancel int
}

func (w firings) decided(s Scheduled, now time.Time) (d decided) {
	step := w.next(s, now)
	for _, f := range step.note {
		d.Notes = append(d.Notes, outcome{f.Key, f.Outcome, f.Detail, f.Missed})
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
			decided{Notes: []outcome{{nineKey, campaign.FiringLaunching, "", 0}}, Launch: nineKey}},
		{"late, skip", "", firings{after: nine.Add(-3 * time.Hour)}, nine.Add(149 * time.Second),
			decided{Notes: []outcome{{nineKey, campaign.FiringMissed, "no process fired it in time; first seen 2m29s late", 2}}}},
		{"late, run", ", misfire: run, grace: 10m", firings{after: nine.Add(-3 * time.Hour)}, nine.Add(10 * time.Minute),
			decided{Notes: []outcome{{nineKey, campaign.FiringLaunching, "", 2}}, Launch: nineKey}},
		{"too late, run", ", misfire: run, grace: 1m", firings{after: nine.Add(-time.Hour)}, nine.Add(194 * time.Second),
			decided{Notes: []outcome{{nineKey, campaign.FiringMissed, "no process fired it in time; first seen 3m14s late", 0}}}},
		{"launched by another replica", "", firings{after: nine, open: open(campaign.FiringLaunching, ""),
			launched: map[string]campaign.RunNo{eightKey: 3}, unfinished: busy}, nine.Add(time.Second),
			decided{Notes: []outcome{{eightKey, campaign.FiringLaunched, "", 0}}}},
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
			decided{Notes: []outcome{{eightKey, campaign.FiringMissed, lostFiring, 0}}}},
		{"overlap: cancel, while the one before is launched", ", overlap: cancel, grace: 2h",
			firings{after: nine.Add(-time.Hour), open: open(campaign.FiringLaunching, "")}, nine,
			decided{Notes: []outcome{{nineKey, campaign.FiringSkipped, "the firing of 2026-11-20T08:00:00Z is being launched", 0}},
				Launch: eightKey}},
		{"its launch failed too long", "", firings{after: nine.Add(-time.Hour), open: open(campaign.FiringLaunching, "away")},
			nine.Add(-time.Second),
			decided{Notes: []outcome{{eightKey, campaign.FiringFailed, "no launch succeeded within its grace of 30m: away", 0}}}},
		{"while the one before is launched", ", grace: 2h", firings{after: nine.Add(-time.Hour), open: open(campaign.FiringLaunching, "")}, nine,
			decided{Notes: []outcome{{nineKey, campaign.FiringSkipped, "the firing of 2026-11-20T08:00:00Z is being launched", 0}},
				Launch: eightKey}},
		{"overlap: skip", "", firings{after: nine.Add(-time.Hour), unfinished: busy}, nine,
			decided{Notes: []outcome{{nineKey, campaign.FiringSkipped, running, 0}}}},
		{"overlap: queue", ", overlap: queue", firings{after: nine.Add(-time.Hour), unfinished: busy}, nine,
			decided{Notes: []outcome{{nineKey, campaign.FiringWaiting, running, 0}}}},
		{"overlap: queue, behind another", ", overlap: queue",
			firings{after: nine.Add(-time.Hour), unfinished: busy, open: open(campaign.FiringWaiting, running)}, nine,
			decided{Notes: []outcome{{nineKey, campaign.FiringSkipped, running + ", and the firing of 2026-11-20T08:00:00Z waits already", 0}}}},
		{"overlap: queue, the run has ended", ", overlap: queue",
			firings{after: nine, open: open(campaign.FiringWaiting, running)}, nine.Add(59 * time.Minute),
			decided{Notes: []outcome{{eightKey, campaign.FiringLaunching, "", 0}}, Launch: eightKey}},
		{"overlap: cancel", ", overlap: cancel", firings{after: nine.Add(-time.Hour), unfinished: busy}, nine,
			decided{Notes: []outcome{{nineKey, campaign.FiringWaiting, running, 0}}, Cancel: 1}},
		{"overlap: cancel, another waits", ", overlap: cancel",
			firings{after: nine.Add(-time.Hour), unfinished: busy, open: open(campaign.FiringWaiting, running)}, nine,
			decided{Notes: []outcome{{eightKey, campaign.FiringSkipped, "a later firing has taken its place", 0},
				{nineKey, campaign.FiringWaiting, running, 0}}, Cancel: 1}},
		{"overlap: cancel, the run has ended", ", overlap: cancel",
			firings{after: nine, open: open(campaign.FiringWaiting, running)}, nine.Add(time.Minute),
			decided{Notes: []outcome{{eightKey, campaign.FiringLaunching, "", 0}}, Launch: eightKey}},
	} {
		if diff := cmp.Diff(tt.want, tt.w.decided(hourly(t, tt.schedule), tt.now)); diff != "" {
			t.Errorf("%s: step -want +got:\n%s", tt.name, diff)
		}
	}
}

// Firings that come while a window is closed pile up as one run, in the ledger, the log and the
// metric.
func TestFiringsBehindAnUnfinishedRunAreSkipped(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	file := c.campaign(c.dir, "spring", "schedule: {cron: \"0 * * * *\", misfire: run, grace: 90m}\n", 3)
	makeDue(t, file)
	c.config.Campaigns = c.dir
	s, err := readScheduled(file)
	if err != nil {
		t.Fatal(err)
	}
	d, log := c.replica(), &notes{}
	d.log = logTo(log)
	d.schedule = d.newScheduler()
	e, err := d.engine(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.lookAndFire(t.Context(), s, e); err != nil {
		t.Fatal(err)
	}
	hour := time.Now().UTC().Truncate(time.Hour)
	for i := range 3 { // two firings that come, and a look without one
		now := hour.Add(time.Duration(min(i, 1)+1) * time.Hour)
		if f, err := d.schedule.look(t.Context(), s, now); f != nil || err != nil {
			t.Fatalf("look = %v and %v, want no launch", f, err)
		}
	}
	got, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "spring"})
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []outcome
	for _, f := range got {
		outcomes = append(outcomes, outcome{f.At.Sub(hour).String(), f.Outcome, f.Detail, min(f.Missed, 1)})
	}
	want := []outcome{
		{"2h0m0s", campaign.FiringSkipped, "spring-1 is ready (`campaignd why spring-1`)", 0},
		{"1h0m0s", campaign.FiringSkipped, "spring-1 is ready (`campaignd why spring-1`)", 0},
		{"0s", campaign.FiringLaunched, "", 1},
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("firings -want +got:\n%s", diff)
	}
	if runs := c.runs(); len(runs) != 1 {
		t.Errorf("got %d runs, want 1", len(runs))
	}
	if n := len(log.lines("a firing was skipped")); n != 2 {
		t.Errorf("got %d lines of skipped firings, want 2", n)
	}
	missed := got[len(got)-1].Missed
	for o, want := range map[campaign.FiringOutcome]int64{campaign.FiringLaunched: 1, campaign.FiringSkipped: 2,
		campaign.FiringMissed: missed, campaign.FiringFailed: 0} {
		if n := d.schedule.Fired(o); n != want || o == campaign.FiringMissed && n == 0 {
			t.Errorf("%s: got a count of %d, want %d", o, n, want)
		}
	}
}

// The five doubts of a run keep no firing waiting, whatever its overlap says. One row that is still
// to be sent does, and so does a policy that sends doubts again.
func TestARunOfDoubtsAloneIsNoOverlap(t *testing.T) {
	for _, tt := range []struct {
		name, more string
		left       int64
		want       campaign.FiringOutcome
	}{
		{"skip", "", 0, campaign.FiringLaunching},
		{"queue", ", overlap: queue", 0, campaign.FiringLaunching},
		{"cancel", ", overlap: cancel", 0, campaign.FiringLaunching},
		{"a queued row", "", 1, campaign.FiringSkipped},
		{"a deferred row", "", -1, campaign.FiringSkipped},
		{"doubts are sent again", "}\npolicies: {on_uncertain: resend", 0, campaign.FiringSkipped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCluster(t, "STANDARD", 15*time.Second)
			s, err := readScheduled(c.campaign(c.dir, "spring", "schedule: {cron: \"0 * * * *\""+tt.more+"}\n", 9))
			if err != nil {
				t.Fatal(err)
			}
			launched, err := c.replica().schedule.launch(s.File, "").Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ls, err := c.ledger.Claim(t.Context(), campaign.Claim{Owner: "dead", Connection: "conn_1", Runs: []campaign.RunNo{launched.Run.No},
				Max: 1, Lease: time.Hour})
			if err != nil || len(ls) != 1 {
				t.Fatalf("claim: %+v and %v, want one segment", ls, err)
			}
			l, posted := ls[0], 9-max(tt.left, 0)
			if _, err := c.ledger.Intend(t.Context(), []campaign.Intent{{Lease: l, Connection: "conn_1", From: 0, To: posted}}); err != nil {
				t.Fatal(err)
			}
			var results []campaign.Result
			for seq := range posted {
				r := campaign.Result{Run: l.Run, Seq: seq, Connection: "conn_1", Attempt: 1, Epoch: l.Epoch, At: time.Now(),
					Kind: campaign.ResultDoubt, Code: "time_out"}
				switch {
				case seq >= 5 && tt.left < 0:
					r.Kind, r.Code, r.NotBefore = campaign.ResultDeferred, "rate_limited", time.Now().Add(time.Hour)
				case seq >= 5:
					r.Kind, r.Code, r.MessageID = campaign.ResultAccepted, "", fmt.Sprintf("wamid.%d", seq)
				}
				results = append(results, r)
			}
			if err := c.ledger.Record(t.Context(), results); err != nil {
				t.Fatal(err)
			}
			s.Written = time.Now().Add(-time.Minute)
			if _, err := c.replica().schedule.look(t.Context(), s, s.Cron.Next(time.Now()).At.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			firings, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "spring"})
			if err != nil || len(firings) != 1 || firings[0].Outcome != tt.want {
				t.Errorf("got the firings %+v and %v, want one that is %s", firings, err, tt.want)
			}
			if run, err := c.ledger.Run(t.Context(), l.Run); err != nil || run.Wanted != campaign.WantRun {
				t.Errorf("the run: got wanted %s and %v, want run", run.Wanted, err)
			}
		})
	}
}

// wantLooks compares what is launched at each instant, in order: the key of the firing, "" for
// none.
func (c *cluster) wantLooks(s Scheduled, looks ...[2]string) {
	c.Helper()
	d := c.replica()
	for _, look := range looks {
		now, err := time.Parse(time.RFC3339, look[0])
		if err != nil {
			c.Fatal(err)
		}
		f, err := d.schedule.look(c.Context(), s, now)
		if err != nil {
			c.Fatal(err)
		}
		key := ""
		if f != nil {
			key = f.Key
			f.Outcome = campaign.FiringLaunched
			if err := d.schedule.note(c.Context(), *f, false); err != nil {
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
	c := newCluster(t, "STANDARD", scheduleEvery)
	const nine = "cron: '0 9 * * *', misfire: run, grace: 2h"
	c.wantLooks(scheduledAt(t, "2026-03-01T10:00:00Z", nine), [2]string{"2026-03-02T08:00:00Z", ""})
	c.wantLooks(scheduledAt(t, "2026-03-02T09:30:00Z", nine), [2]string{"2026-03-02T09:30:05Z", "2026-03-02T09:00"},
		[2]string{"2026-03-02T09:30:10Z", ""})
	early := scheduledAt(t, "2026-03-03T08:30:00Z", "cron: '0 8 * * *', misfire: run, grace: 2h")
	c.wantLooks(early, [2]string{"2026-03-03T08:30:05Z", ""}, [2]string{"2026-03-04T08:00:02Z", "2026-03-04T08:00"})
}

func TestASingleTimeFiresOnce(t *testing.T) {
	c := newCluster(t, "STANDARD", scheduleEvery)
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
