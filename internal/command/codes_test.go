package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/recipients"
)

func TestEveryErrorHasItsExitCode(t *testing.T) {
	going := t.Context()
	ended, cancel := context.WithCancel(going)
	cancel()
	two := &file.Error{Findings: []file.Finding{
		{Level: file.LevelError, Where: "c.yaml:2:3", What: "no", Excerpt: "    2 | x"},
		{Level: file.LevelError, Where: "c.yaml:4:1", What: "nor this"},
	}}
	for _, tt := range []struct {
		name     string
		ctx      context.Context
		err      error
		terminal bool
		code     int
		stderr   string
	}{
		{"nothing", ended, nil, false, 0, ""},
		{"a failure", going, errors.New("disk full"), false, 1, "campaignd: disk full\n"},
		{"a failure of several lines", going, errors.New("disk\n\tfull\r\n"), false, 1, "campaignd: disk full\n"},
		{"a failure while it is interrupted", ended, errors.New("disk full"), false, 1, "campaignd: disk full\n"},
		{"a time that ran out", ended, context.DeadlineExceeded, false, 1, "campaignd: context deadline exceeded\n"},
		{"an interruption", ended, fmt.Errorf("read: %w", context.Canceled), false, 130, "campaignd: interrupted\n"},
		{"an end without a signal", going, fmt.Errorf("read: %w", context.Canceled), false, 1, "campaignd: read: context canceled\n"},
		{"an interruption with a text", ended, &exitError{ExitInterrupted, errors.New("it goes on")}, false, 130, "campaignd: it goes on\n"},
		{"an interruption that was printed", ended, Silent(ExitInterrupted), false, 130, ""},
		{"wrong usage", going, fmt.Errorf("x: %w", Invalid(errors.New("no such flag"))), false, 2, "campaignd: x: no such flag\n"},
		{"invalid input", going, Invalid(errors.New("no list")), false, 2, "campaignd: no list\n"},
		{"uncertain rows", going, Silent(ExitUnsure), true, 3, ""},
		{"a sum that does not balance", going, Silent(ExitFailed), false, 1, ""},
		{"a campaign file", going, fmt.Errorf("x: %w", two), false, 2, "campaignd: x: c.yaml:2:3: no\ncampaignd: c.yaml:4:1: nor this\n"},
		{"a campaign file on a terminal", going, two, true, 2, "campaignd: c.yaml:2:3: no\n    2 | x\nc.yaml:4:1: nor this\n"},
		{"a preflight", going, &launch.PreflightError{Preflight: &launch.Preflight{}}, false, 2,
			"campaignd: the list has no row that can be sent; see `campaignd check`\n"},
		{"a changed file", going, &launch.ChangedError{Run: campaign.Run{No: 3, Campaign: "a"}, Differences: []string{"name"}}, false, 2,
			"campaignd: a-3 is unfinished and was launched with another campaign file: name; " +
				"restore the file to resume it, `campaignd cancel a-3` to end it, or pass --new for another run\n"},
		{"a list", going, &recipients.FileError{File: "l.csv", Line: 2, Message: "bad"}, false, 2, "campaignd: l.csv:2: bad\n"},
		{"no run", going, fmt.Errorf("%w: a-3", campaign.ErrNoRun), false, 2, "campaignd: " + campaign.ErrNoRun.Error() + ": a-3\n"},
		{"no row", going, launch.ErrNoRow, false, 2, "campaignd: " + launch.ErrNoRow.Error() + "\n"},
		{"no number", going, launch.ErrNoNumber, false, 2, "campaignd: " + launch.ErrNoNumber.Error() + "\n"},
		{"no file", going, fmt.Errorf("open: %w", fs.ErrNotExist), false, 2, "campaignd: open: file does not exist\n"},
		{"not now", going, campaign.ErrNotNow, false, 1, "campaignd: " + campaign.ErrNotNow.Error() + "\n"},
		{"a ledger in use", going, campaign.ErrLocked, false, 1, "campaignd: " + campaign.ErrLocked.Error() + "\n"},
	} {
		var stderr bytes.Buffer
		if code := Conclude(tt.ctx, tt.err, &stderr, tt.terminal); code != tt.code || stderr.String() != tt.stderr {
			t.Errorf("%s: got %d with %q, want %d with %q", tt.name, code, stderr.String(), tt.code, tt.stderr)
		}
	}
}

type closer struct{ err error }

func (c closer) Close() error { return c.err }

func TestAFailedCloseOfTheLedgerIsAWarning(t *testing.T) {
	for closed, want := range map[error]string{nil: "", errors.New("busy"): "warning: busy\n"} {
		var stderr bytes.Buffer
		if Leaving(closer{closed}, &stderr); stderr.String() != want {
			t.Errorf("closed with %v: got %q, want %q", closed, stderr.String(), want)
		}
	}
}

func TestAFailedCloseOfAFileFailsTheCommand(t *testing.T) {
	first, last := errors.New("first"), errors.New("last")
	for _, tt := range []struct{ before, closed, want error }{
		{nil, nil, nil}, {nil, last, last}, {first, last, first}, {first, nil, first},
	} {
		got := tt.before
		if Closing(closer{tt.closed}, &got); got != tt.want {
			t.Errorf("%v, then closed with %v: got %v, want %v", tt.before, tt.closed, got, tt.want)
		}
	}
}
