package campaign

import (
	"fmt"
	"strings"
)

// PreflightError says that the campaign or its list cannot be sent. `run` and `serve` treat it as a
// fault of the input.
type PreflightError struct{ Preflight *Preflight }

// Error names the first fault and counts the rest.
func (e *PreflightError) Error() string {
	faults := e.Preflight.Errors()
	if len(faults) == 0 {
		return "the list has no row that can be sent; see `campaignd check`"
	}
	if len(faults) == 1 {
		return faults[0].String()
	}
	return fmt.Sprintf("%s (and %d more; see `campaignd check`)", faults[0], len(faults)-1)
}

// ChangedError says that an unfinished run of this list was launched with another campaign file.
type ChangedError struct {
	Run         Run
	Differences []string
}

// Error names the differences and what the operator can do.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s is unfinished and was launched with another campaign file: %s; "+
		"restore the file to resume it, `campaignd cancel %s` to end it, or pass --new for another run",
		e.Run.ID(), strings.Join(e.Differences, "; "), e.Run.ID())
}
