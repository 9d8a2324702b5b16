package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/recipients"
)

// ErrListElsewhere says that this process does not find the list of an interrupted import under its
// name.
var ErrListElsewhere = errors.New("the list that the import began with is not here")

// PreflightError says that the campaign or its list cannot be sent. `run` and `serve` treat it as a
// fault of the input.
type PreflightError struct{ Preflight *Preflight }

// Error names the first fault and counts the rest.
func (e *PreflightError) Error() string {
	faults := e.Preflight.Errors()
	if len(faults) == 0 && e.Preflight.Skipped[campaign.SentBefore] > 0 {
		return fmt.Sprintf("the list has no row that can be sent: %s; see `campaignd check`", e.Preflight.SentBefore)
	}
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
	Run         campaign.Run
	Differences []string
}

// Error names the differences and what the operator can do.
func (e *ChangedError) Error() string {
	restore := "restore the file to resume it"
	if flags := e.limitFlags(); flags != "" {
		restore += fmt.Sprintf(" (`campaignd limits %s%s` changes the run's limits while it is sent)", e.Run.ID(), flags)
	}
	return fmt.Sprintf("%s is unfinished and was launched with another campaign file: %s; "+
		"%s, `campaignd cancel %s` to end it, or pass --new for another run",
		e.Run.ID(), strings.Join(e.Differences, "; "), restore, e.Run.ID())
}

// limitFlags returns the flags with which `campaignd limits` makes the differences that are limits
// of a run, "" if none is.
func (e *ChangedError) limitFlags() (flags string) {
	for _, d := range e.Differences {
		path, change, _ := strings.Cut(d, ": ")
		flag := map[string]string{"limits.rate": "rate", "limits.weight": "weight", "limits.deadline": "deadline"}[path]
		_, is, _ := strings.Cut(change, ", is ")
		switch {
		case flag == "":
			continue
		case is == "not set" && flag == "weight":
			is = "1" // the default
		case is == "not set":
			is = "none"
		}
		flags += " --" + flag + " " + strings.Trim(is, `"`)
	}
	return flags
}

// ErrKeyUsed says that NewKey belongs to a request for something else.
var ErrKeyUsed = errors.New("the key of this request was used before")

// sameRequest returns ErrKeyUsed unless the run that has the NewKey, if there is one, has the same
// list and campaign.
func sameRequest(found []campaign.Run, hash string, source []byte) error {
	if len(found) == 0 {
		return nil
	}
	diff := file.Differences(found[0].Definition, source)
	if hash != "" && found[0].ListHash != hash {
		diff = append(diff, "another list")
	}
	if len(diff) == 0 {
		return nil
	}
	return fmt.Errorf("%w: it launched %s, and this request differs: %s; give a request for another run another key", ErrKeyUsed,
		found[0].ID(), strings.Join(diff, "; "))
}

// lostList returns the error of an import whose list cannot be read. Nobody can give the list of an
// audience again, so the error says what to do if it is not here.
func lostList(d *file.Definition, run campaign.Run, list string, err error) error {
	if err == nil {
		return nil
	}
	if _, missing := os.Stat(list); d.Audience == nil || list != run.ListName || !errors.Is(missing, fs.ErrNotExist) {
		return err
	}
	return &recipients.FileError{File: run.List(), Message: "the list of the audience is not here",
		Remedy: fmt.Sprintf("start the process that made it, or end the run with `campaignd cancel %s`: the next launch makes a list", run.ID())}
}

// noList is the error of a campaign file that is launched without a list.
func noList(path string) *file.Error {
	return &file.Error{Findings: []file.Finding{{
		Level: file.LevelError, Where: path,
		What:   "no list of recipients",
		Remedy: "set recipients.file in the campaign, or pass --recipients FILE",
	}}}
}
