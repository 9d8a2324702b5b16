package ledger_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/ledger"
)

// A command that writes once returns its error, without a line of the log beside it. The next
// outage is logged again.
func TestOneFailedWriteIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		o := ledger.Outage{Log: slog.New(slog.NewTextHandler(&said, nil)), Name: "test.db"}
		for _, step := range []struct{ failures, began, ended int }{{1, 0, 0}, {2, 1, 1}, {1, 1, 1}, {9, 2, 2}} {
			for range step.failures {
				_ = o.Failed(errors.New("fault"))
			}
			o.Wrote() // too soon to be its end
			time.Sleep(10 * time.Second)
			o.Wrote()
			o.Wrote()
			began, ended := strings.Count(said.String(), "takes no writes"), strings.Count(said.String(), "takes writes again")
			if began != step.began || ended != step.ended {
				t.Errorf("after %d failures: got %d beginnings and %d ends, want %d and %d:\n%s", step.failures, began, ended,
					step.began, step.ended, &said)
			}
		}
	})
}
