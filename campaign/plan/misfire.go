package plan

import (
	"time"
)

// defaultGrace is how late a firing may be launched when the campaign does not say.
const defaultGrace = 30 * time.Minute

// Verdict is what to do about a firing now.
type Verdict string

// The results of Misfire.
const (
	NotYet Verdict = "not_yet" // the firing lies in the future
	Fire   Verdict = "fire"    // launch the run
	Skip   Verdict = "skip"    // too late: record the firing as missed and launch nothing
)

// inTime is how late a firing still counts as fired in time: a replica that takes over, or a
// process that is restarted, needs seconds.
const inTime = time.Minute

// Late reports whether a firing that was due is seen first later than a hand-over takes.
func Late(due, seen time.Time) bool { return seen.Sub(due) > inTime }

// Misfire decides about a firing that was due and that no process has seen so far. Up to inTime
// late it is launched. A later one was missed: it is launched only when the policy is "run", and
// any other policy skips it. Nothing is launched later than grace; 0 or less means defaultGrace.
func Misfire(policy string, grace time.Duration, due, now time.Time) Verdict {
	if grace <= 0 {
		grace = defaultGrace
	}
	switch late := now.Sub(due); {
	case late < 0:
		return NotYet
	case late <= grace && (late <= inTime || policy == "run"):
		return Fire
	default:
		return Skip
	}
}
