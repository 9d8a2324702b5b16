package launch

import (
	"fmt"
	"time"

	"campaignd/internal/sentence"
)

// ScheduledError says that the schedule of the campaign has one time to come (schedule.at) and
// sends to the same list then, so a launch now would send to everybody twice.
type ScheduledError struct {
	File string    // of the schedule
	At   time.Time // when it fires
}

// Error is two lines: what the schedule will do, and the ways out.
func (e *ScheduledError) Error() string {
	return e.Reason() + "\n--new sends now too; to send only now, remove that file or its schedule first"
}

// Reason says when the schedule sends, without the ways out.
func (e *ScheduledError) Reason() string {
	return fmt.Sprintf("%s sends to this list at %s (schedule.at)", e.File, sentence.Instant(e.At))
}

// Check says what `run` without --new would do because of the schedule.
func (e *ScheduledError) Check() *Check {
	return &Check{Does: Scheduled, At: e.At, Sentence: "`run` refuses this list until then, and --new sends now too: " + e.Reason()}
}
