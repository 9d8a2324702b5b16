package drops

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

const (
	oneSidecar  = "recipients: {where: 'consent = yes'}\n"
	nextSidecar = "recipients: {where: 'consent = si'}\n"
)

// exported is a world in which each launch is noted by its list, with its sidecar. While *away, the
// service is.
func exported(t *testing.T) (w *world, o Options, with map[string]string, away *bool) {
	w, with, away = newWorld(t, 1), map[string]string{}, new(bool)
	o = w.watcher("a").o
	o.Launch = func(ctx context.Context, r Request) (campaign.Run, error) {
		if *away {
			return campaign.Run{}, errors.New("the service is away")
		}
		text, err := os.ReadFile(r.List)
		if err != nil {
			return campaign.Run{}, err
		}
		w.mu.Lock()
		with[string(text)] = string(r.Sidecar)
		w.mu.Unlock()
		return w.launch(ctx, r)
	}
	return w, o, with, away
}

// An exporter gives all lists one name, and all sidecars. It writes the next sidecar while the list
// before is imported, and then the next list.
func TestTheSidecarOfTheNextListStays(t *testing.T) {
	for name, first := range map[string]string{"each list has one": oneSidecar, "the first list has none": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, o, with, _ := exported(t)
				w.least = time.Minute
				if first != "" {
					w.put("list.csv.yaml", first)
				}
				w.put("list.csv", list(1, 1))
				defer w.running(New(o))()
				time.Sleep(30 * time.Second)
				w.put("list.csv.yaml", nextSidecar)
				time.Sleep(2 * time.Minute)
				if got := w.text("list.csv.yaml"); got != nextSidecar || w.text("done/list.csv") != list(1, 1) {
					t.Errorf("after the first list was moved: got the sidecar %q and %v, want that of the next list", got, w.files())
				}
				w.put("list.csv", list(2, 1))
				time.Sleep(3 * time.Minute)
				if diff := cmp.Diff(map[string]string{list(1, 1): first, list(2, 1): nextSidecar}, with); diff != "" {
					t.Errorf("launched with -want +got:\n%s", diff)
				}
				if w.text("done/list-2.csv.yaml") != nextSidecar || w.text("list.csv.yaml") != "" {
					t.Errorf("got %v, want the second sidecar beside its list", w.files())
				}
			})
		})
	}
}

// The service is away when the first list comes, and still is when the next sidecar comes.
func TestAListIsNotLaunchedWithTheNextSidecar(t *testing.T) {
	for name, first := range map[string]string{"each list has one": oneSidecar, "the first list has none": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, o, with, away := exported(t)
				*away = true
				if first != "" {
					w.put("list.csv.yaml", first)
				}
				w.put("list.csv", list(1, 1))
				defer w.running(New(o))()
				time.Sleep(10 * time.Second)
				w.put("list.csv.yaml", nextSidecar)
				time.Sleep(time.Minute)
				f, report := w.dropped()["list.csv"], w.text("rejected/list.csv"+reportJSON)
				if f.State != campaign.DropRejected || !strings.Contains(report, `"error": "invalid_sidecar"`) {
					t.Errorf("the first list: got %s, %s and %s, want it rejected for its sidecar", f.State, f.Detail, report)
				}
				*away = false
				w.put("list.csv", list(2, 1))
				time.Sleep(time.Minute)
				if diff := cmp.Diff(map[string]string{list(2, 1): nextSidecar}, with); diff != "" {
					t.Errorf("launched with -want +got:\n%s", diff)
				}
			})
		})
	}
}

// Somebody puts the sidecar into the folder after its list was launched. The next list of that name
// would have it.
func TestASidecarWithoutItsListIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o, with, _ := exported(t)
		w.least = time.Minute
		w.put("list.csv", list(1, 1))
		defer w.running(New(o))()
		time.Sleep(30 * time.Second)
		w.put("list.csv.yaml", oneSidecar)
		time.Sleep(10 * time.Second)
		if got := w.waiting(); got["list.csv.yaml"] != "" {
			t.Errorf("while the list is there: got %v, want nothing of its sidecar", got)
		}
		time.Sleep(2 * time.Minute)
		const want = "there is no list list.csv here; the next one is launched with this sidecar"
		if got := w.waiting(); len(got) != 1 || !strings.HasPrefix(got["list.csv.yaml"], want) || with[list(1, 1)] != "" {
			t.Errorf("after the list was launched with %q: got %v, want %q of list.csv.yaml", with[list(1, 1)], got, want)
		}
		w.ok(os.Remove(w.path("list.csv.yaml")))
		time.Sleep(10 * time.Second)
		if got := w.waiting(); len(got) != 0 {
			t.Errorf("after it was removed: got %v, want nothing that waits", got)
		}
	})
}
