package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/client"
)

// The exit codes (docs/operations.md#commands-and-exit-codes).
const (
	ExitDone        = 0
	ExitFailed      = 1   // it may succeed when tried again
	ExitUsage       = 2   // wrong usage or invalid input
	ExitUnsure      = 3   // a row ended unsent or uncertain
	ExitInterrupted = 130 // by SIGINT or SIGTERM
)

// exitError is an error that decides the exit code.
type exitError struct {
	code int
	// err is printed. It is nil when the command's output already says enough.
	err error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// Invalid marks an error as wrong usage or invalid input.
func Invalid(err error) error { return &exitError{ExitUsage, err} }

// Interrupted marks an error as an end that the operator asked for.
func Interrupted(err error) error { return &exitError{ExitInterrupted, err} }

// Silent returns an error that ends the program with code and prints no message.
func Silent(code int) error { return &exitError{code, nil} }

// Conclude prints err in one line (one per finding) and returns the exit code.
func Conclude(ctx context.Context, err error, stderr io.Writer, terminal bool) int {
	code, quiet := Classify(ctx, err)
	if quiet {
		if exit := (*exitError)(nil); code == ExitInterrupted && !errors.As(err, &exit) {
			fmt.Fprintln(stderr, "campaignd: interrupted")
		}
		return code
	}
	var file *file.Error
	if errors.As(err, &file) && terminal {
		fmt.Fprintf(stderr, "campaignd: %s\n", file.Show())
		return code
	}
	for line := range strings.SplitSeq(oneLine(err), "\n") {
		fmt.Fprintf(stderr, "campaignd: %s\n", line)
	}
	return code
}

// Classify returns the exit code of err. quiet means that err itself is not printed.
func Classify(ctx context.Context, err error) (code int, quiet bool) {
	var exit *exitError
	refusal, _ := launch.RefusalOf(err)
	switch {
	case err == nil:
		return ExitDone, true
	case errors.As(err, &exit):
		return exit.code, exit.err == nil
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return ExitInterrupted, true
	case refusal != "", errors.Is(err, campaign.ErrNoRun), errors.Is(err, launch.ErrNoRow), errors.Is(err, launch.ErrNoNumber),
		errors.Is(err, fs.ErrNotExist):
		return ExitUsage, false
	}
	return ExitFailed, false
}

// oneLine joins the lines of a library's error. Each finding of a campaign file keeps a line of its
// own, and so does each remedy for an earlier run, also in the error of another process.
func oneLine(err error) string {
	var told *client.Error
	switch refusal, _ := launch.RefusalOf(err); refusal {
	case launch.RefusedCampaign, launch.RefusedUnfinished, launch.RefusedRepeat, launch.RefusedScheduled:
		return err.Error()
	}
	if errors.As(err, &told) {
		return err.Error()
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", " ")), " ")
}

// FaultOf returns the fault that a preflight of a campaign file found.
func FaultOf(found *launch.Preflight) error {
	if faults := found.Errors(); len(faults) > 0 {
		return &file.Error{Findings: faults}
	}
	return Invalid(&launch.PreflightError{Preflight: found})
}

// Unwritable adds the remedy to the error of a file that was to be opened for writing.
func Unwritable(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return Invalid(fmt.Errorf("%s exists; name another file", path))
	case errors.Is(err, fs.ErrNotExist):
		return Invalid(fmt.Errorf("%w; name a file in a folder that exists", err))
	}
	return err
}

// Leaving closes what a command worked with. Whether that succeeds says nothing of what the command
// did, so the error is a warning and does not decide the exit code.
func Leaving(c io.Closer, stderr io.Writer) {
	if err := c.Close(); err != nil {
		fmt.Fprintf(stderr, "warning: %v\n", err)
	}
}

// Closing closes a file. The error of Close becomes *err if that is nil.
func Closing(c io.Closer, err *error) {
	if e := c.Close(); e != nil && *err == nil {
		*err = e
	}
}
