package api

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/uploads"
)

// No other upload comes, and the process goes on for days.
func TestAListThatIsNeverLaunchedIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, stop := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { w.Run(ctx) })
		for _, name := range []string{exampleUpload.Hash, "draft.incoming"} {
			if _, err := w.process.Uploads.Add(name, 0, strings.NewReader("phone\n")); err != nil {
				t.Fatal(err)
			}
		}
		lists := func() (found []string) {
			t.Helper()
			found, err := filepath.Glob(filepath.Join(w.process.Uploads.Dir(), "*"))
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		for _, list := range lists() { // their times come from the system, not from the test
			if err := os.Chtimes(list, time.Time{}, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(uploads.KeptFor - expireEvery)
		if got := lists(); len(got) != 2 {
			t.Errorf("within a day: got the lists %v, want both", got)
		}
		time.Sleep(3 * expireEvery)
		if got := lists(); len(got) != 0 {
			t.Errorf("after a day: got the lists %v, want none", got)
		}
		stop()
		work.Wait()
	})
}
