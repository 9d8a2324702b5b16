package schedule

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
)

// launching returns a launcher and its log.
func launching() (*Launcher, *bytes.Buffer) {
	var log bytes.Buffer
	return NewLauncher(New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})), &log
}

func TestAFailedLaunchIsRepeatedAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, log := launching()
		tries, fault := 0, errors.New("no list")
		try := func() {
			l.try(t.Context(), "spring", func(context.Context) error { tries++; return fault })
			l.Wait()
		}
		logged := func(want int) {
			t.Helper()
			if got := strings.Count(log.String(), `msg="a launch failed and will be tried again" job=spring`); got != want {
				t.Errorf("after %d tries the fault is logged %d times, want %d:\n%s", tries, got, want, log)
			}
		}
		try()
		time.Sleep(time.Minute - 1)
		try()
		if tries != 1 {
			t.Errorf("%d tries within a minute, want 1", tries)
		}
		logged(1)
		time.Sleep(time.Nanosecond)
		try()
		if tries != 2 {
			t.Errorf("%d tries after a minute, want 2", tries)
		}
		logged(1)
		time.Sleep(time.Minute)
		fault = errors.New("another fault")
		try()
		logged(2)
		time.Sleep(time.Minute)
		fault = nil
		try()
		try()
		if tries != 5 {
			t.Errorf("%d tries, want 5: a launch that succeeded is not delayed", tries)
		}
		if got := strings.Count(log.String(), "has succeeded"); got != 1 {
			t.Errorf("two successes after a fault are logged %d times, want once, with the first:\n%s", got, log)
		}
		if kept := len(l.busy) + len(l.again) + l.faults.Succeeded("spring"); kept != 0 {
			t.Errorf("%d entries of a launch that succeeded are kept, want none", kept)
		}
		fault = errors.New("another fault")
		try()
		logged(3) // a success in between forgets the fault
	})
}

func TestALaunchOfAnotherProcessIsNoFault(t *testing.T) {
	for _, fault := range []error{campaign.ErrTaken, campaign.ErrFenced} {
		l, log := launching()
		tries := 0
		for range 3 {
			l.try(t.Context(), "spring", func(context.Context) error { tries++; return fmt.Errorf("x: %w", fault) })
			l.Wait()
		}
		if tries != 3 || log.Len() != 0 {
			t.Errorf("%v: %d tries and the log %q, want 3 and an empty one", fault, tries, log)
		}
	}
	l, log := launching()
	ctx, stop := context.WithCancel(t.Context())
	l.try(ctx, "spring", func(context.Context) error { stop(); return errors.New("interrupted") })
	l.Wait()
	l.try(ctx, "summer", func(context.Context) error { t.Error("launched after the end"); return nil })
	l.Wait()
	if log.Len() != 0 || len(l.again) != 0 {
		t.Errorf("at the end: the log %q and %d faults, want none", log, len(l.again))
	}
}

func TestTwoListsAreImportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := launching()
		started, end := []string{}, make(chan struct{})
		try := func(key string) {
			l.try(t.Context(), key, func(context.Context) error { started = append(started, key); <-end; return nil })
			synctest.Wait()
		}
		for _, key := range []string{"a", "a", "b", "c"} {
			try(key)
		}
		if got := fmt.Sprint(started); got != "[a b]" {
			t.Errorf("started %s, want [a b]: each once, two at a time", got)
		}
		close(end)
		l.Wait()
		if got := len(l.freed); got != 1 {
			t.Errorf("after c found no slot, the ends ask for %d looks, want 1", got)
		}
		try("c")
		try("a")
		l.Wait()
		if got := fmt.Sprint(started); got != "[a b c a]" {
			t.Errorf("started %s, want [a b c a]", got)
		}
	})
}

func TestAFaultIsLoggedOnceUntilItChanges(t *testing.T) {
	l, log := launching()
	for _, err := range []error{errors.New("a"), errors.New("a"), errors.New("b"), nil, errors.New("b"), errors.New("b")} {
		l.logOnce("k", "it cannot be checked", err)
		l.logFindingsOnce("folder", "a file is not used", err)
	}
	for _, message := range []string{"it cannot be checked", "a file is not used"} {
		if got := strings.Count(log.String(), message); got != 3 {
			t.Errorf("%q is logged %d times, want 3:\n%s", message, got, log)
		}
	}
}

func TestAMissingCampaignsFolderIsLoggedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "campaigns")
	l, log := launching()
	l.checkFolder(dir)
	l.checkFolder(dir)
	if got := log.String(); strings.Count(got, "there is no campaigns folder "+dir) != 1 {
		t.Errorf("got the log %q, want one line that there is no folder %s", got, dir)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	if l.checkFolder(dir); log.Len() > 0 {
		t.Errorf("with the folder: got %q, want no line", log.String())
	}
}
