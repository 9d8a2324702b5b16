package launch_test

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/reception"
)

// A finished run is followed up once, a day after its end, at most max times in a chain, and not
// after the time of the first run is up.
func TestAFollowUpIsDueOnceAndInsideTheLimits(t *testing.T) {
	launched := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	ended := launched.Add(2 * time.Hour)
	day := 24 * time.Hour
	done := func(no, parent campaign.RunNo, launch string) campaign.Run { // a follow-up is younger than its parent
		return campaign.Run{No: no, Parent: parent, Launch: launch, State: campaign.Finished,
			CreatedAt: launched.Add(time.Duration(no-1) * time.Hour), EndedAt: ended}
	}
	first := done(1, 0, "")
	for name, c := range map[string]struct {
		policy string
		run    campaign.Run
		others []campaign.Run
		after  time.Duration // the end of the run
		want   bool
	}{
		"without the policy": {"policies: {}", first, nil, day, false},
		"a day later":        {"policies: {follow_up: {codes: [131049]}}", first, nil, day, true},
		"too early":          {"policies: {follow_up: {codes: [131049]}}", first, nil, day - 1, false},
		"its own time":       {"policies: {follow_up: {codes: [131049], after: 30h}}", first, nil, 30*time.Hour - 1, false},
		"a week too late":    {"policies: {follow_up: {codes: [131049]}}", first, nil, 8 * day, false},
		"not ended":          {"policies: {follow_up: {codes: [131049]}}", campaign.Run{No: 1, State: campaign.Running}, nil, day, false},
		"cancelled": {"policies: {follow_up: {codes: [131049]}}",
			campaign.Run{No: 1, State: campaign.Cancelled, EndedAt: ended}, nil, day, false},
		"made before": {"policies: {follow_up: {codes: [131049]}}", first,
			[]campaign.Run{done(2, 1, launch.AutoFollowUp)}, day, false},
		"half made": {"policies: {follow_up: {codes: [131049]}}", first,
			[]campaign.Run{{No: 2, Parent: 1, Launch: launch.AutoFollowUp, State: campaign.Importing}}, day, true},
		"an operator made one": {"policies: {follow_up: {codes: [131049]}}", first, []campaign.Run{done(2, 1, "follow-up")}, day, true},
		"the second of one": {"policies: {follow_up: {codes: [131049]}}", done(2, 1, launch.AutoFollowUp),
			[]campaign.Run{first}, day, false},
		"the second of two": {"policies: {follow_up: {codes: [131049], max: 2}}", done(2, 1, launch.AutoFollowUp),
			[]campaign.Run{first}, day, true},
		"the third of two": {"policies: {follow_up: {codes: [131049], max: 2}}", done(3, 2, launch.AutoFollowUp),
			[]campaign.Run{first, done(2, 1, launch.AutoFollowUp)}, day, false},
		"its parent is not known": {"policies: {follow_up: {codes: [131049], max: 2}}", done(2, 1, launch.AutoFollowUp), nil, day, false},
		"inside not_after":        {"limits: {not_after: 27h}\npolicies: {follow_up: {codes: [131049]}}", first, nil, day, true},
		"not_after is over for the first": {"limits: {not_after: 26h30m}\npolicies: {follow_up: {codes: [131049], max: 2}}",
			done(2, 1, launch.AutoFollowUp), []campaign.Run{first}, day + 45*time.Minute, false},
		"not_after is not over for the first": {"limits: {not_after: 27h}\npolicies: {follow_up: {codes: [131049], max: 2}}",
			done(2, 1, launch.AutoFollowUp), []campaign.Run{first}, day + 45*time.Minute, true},
		"not_after is over": {"limits: {not_after: 26h}\npolicies: {follow_up: {codes: [131049]}}", first, nil, day, false},
	} {
		runs := map[campaign.RunNo]campaign.Run{c.run.No: c.run}
		for _, r := range c.others {
			runs[r.No] = r
		}
		if got := launch.FollowUpDue(c.run, parse(t, minimal+c.policy+"\n"), runs, ended.Add(c.after)); got != c.want {
			t.Errorf("%s: due %v, want %v", name, got, c.want)
		}
	}
}

// Only rows with one of the codes are in the follow-up. Rows that failed less than a day ago make
// it wait, and so does a selection of nobody.
func TestAnAutomaticFollowUpTakesTheFailuresOfItsCodes(t *testing.T) {
	for _, c := range []struct {
		failed time.Time
		code   string
		ok     bool
		rows   int64
	}{
		{time.Now().Add(-25 * time.Hour), "131049", true, 1}, {time.Now().Add(-23 * time.Hour), "131049", false, 0},
		{time.Now().Add(-25 * time.Hour), "131026", false, 0},
	} {
		parent, run := endedRun(t, "", campaign.Line{Status: campaign.Delivered},
			campaign.Line{Status: campaign.Failed, Code: c.code, FailedAt: c.failed}, campaign.Line{Status: campaign.Read})
		policy := &file.FollowUp{Codes: []int{131049}}
		for range 2 { // the second finds what the first made
			got, ok, why, err := launch.StartAutoFollowUp(t.Context(), parent, run, policy, "a", 0)
			made := got.Chosen == c.rows && got.Run.Launch == launch.AutoFollowUp && got.Run.Parent == run.No
			if err != nil || ok != c.ok || ok && !made || ok == (why != "") {
				t.Errorf("%s at %s: got %+v, %v, %q, %v; want started %v with %d rows", c.code, c.failed, got, ok, why, err, c.ok, c.rows)
			}
		}
	}
}

// A restored ledger does not have the follow-ups of the lost time. The policy makes none that may
// be one of those.
func TestAFollowUpThatMayBeLostIsNotMadeAgain(t *testing.T) {
	launched := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	hour := func(n float64) time.Time { return launched.Add(time.Duration(n * float64(time.Hour))) }
	for name, c := range map[string]struct {
		ended, since, until time.Time
		want                bool
	}{
		"it was due in the lost time":                     {hour(2), hour(25), hour(27), true},
		"it waited for its rows when the lost time began": {hour(2), hour(30), hour(31), true},
		"it was due later":                                {hour(2), hour(3), hour(25), false},
		"its run ended in the lost time, and again later": {hour(40), hour(1), hour(26), true},
		"its run ended after a short lost time":           {hour(40), hour(1), hour(2), false},
		"its run is younger":                              {hour(2), hour(-40), hour(-1), false},
	} {
		run := campaign.Run{No: 1, State: campaign.Finished, CreatedAt: launched, EndedAt: c.ended}
		lost := []reception.LostTime{{At: hour(-90), Since: hour(-91)}, {At: c.until, Since: c.since}}
		policy := &file.FollowUp{Codes: []int{131049}, After: campaign.Duration(24 * time.Hour), Max: 1}
		if got := launch.FollowUpLost(run, policy, lost); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// The rows that an operator chose before are a run of the operator, which the policy did not start.
func TestAFollowUpOfAnOperatorIsNotStartedByThePolicy(t *testing.T) {
	parent, run := endedRun(t, "", campaign.Line{Status: campaign.Failed, Code: "131026"})
	if _, err := follow(parent, run, "failed=131026", "refused=131026"); err != nil {
		t.Fatal(err)
	}
	got, ok, why, err := launch.StartAutoFollowUp(t.Context(), parent, run, &file.FollowUp{Codes: []int{131026}}, "a", 0)
	if err != nil || ok || why != "an operator made a-2 of the same rows" {
		t.Errorf("got %+v, started %v, %q, %v; want none started", got, ok, why, err)
	}
}
