//go:build mutants

package harness

import (
	"fmt"
	"os"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// Cancel ends a run within 5 s in every state, whether a process sends or none does.
func TestCancelEndsARunInEveryState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20, func(o *sandbox.Options) {
		clients("co_1", "co_1", "co_1", "co_1", "co_1")(o)
		noStatuses(o)
	})
	lists := map[string][]entry{}
	fire := func(more, name, connection string, policies ...string) {
		lists[name] = people(10_000*len(lists), 6000) // 6 minutes of sending
		w.scheduleWith(more, name, "order_update", lists[name], []string{connection}, append(policies, held...)...)
	}
	// The window has been closed for hours, and opens in hours.
	hour := time.Now().UTC().Add(12 * time.Hour)
	closed := "window: {hours: \"" + hour.Format("15:00") + "-" + hour.Add(time.Hour).Format("15:00") + "\", timezone: UTC}\n"
	fire("", "running", "conn_1")
	fire("", "paused", "conn_2")
	fire("", "held", "conn_3")
	fire(closed, "closed", "conn_4")
	fire("", "approval", "conn_4", "approval: true")
	fire("", "left", "conn_5") // cancelled when no process sends
	// An import dies, and its list is gone.
	w.campaign("importing", "order_update", people(100_000, 2000))
	if died := w.run("importing", "CAMPAIGND_CRASH=import_chunk:1"); !died.byItself() {
		t.Fatalf("%s: got %s, want its end at the crash point", died, w.ending(died))
	}
	if err := os.Remove(w.path("importing.csv")); err != nil {
		t.Fatal(err)
	}
	p := w.serve()
	w.answering(p)
	states := func(name string) string { return w.fired()[name].State }
	w.waits(lifeLimit, "each run is there", func() bool {
		all := w.fired()
		for name := range lists {
			if s := all[name].State; s != "running" && s != "waiting_approval" {
				return false
			}
		}
		return true
	})
	if code, out := w.ask("pause", w.fired()["paused"].ID); code != 0 {
		t.Fatalf("pause: exit code %d, want 0\n%s", code, out)
	}
	w.hold("add", "run", w.fired()["held"].ID)
	w.waits(lifeLimit, "a run is paused", func() bool { return states("paused") == "paused" })
	t.Logf("%v", w.fired())

	cancel := func(name string) {
		t.Helper()
		id, before := w.fired()[name].ID, states(name)
		happened := w.within(5*time.Second, fmt.Sprintf("%s (%s) is cancelled", name, before))
		if code, out := w.ask("cancel", id); code != 0 {
			t.Errorf("cancel %s: exit code %d, want 0\n%s", id, code, out)
		}
		w.waits(lifeLimit, name+" is cancelled", func() bool { return states(name) == "cancelled" })
		happened()
		for _, verb := range []string{"pause", "resume"} {
			if code, out := w.ask(verb, id); code == 0 {
				t.Errorf("%s of the cancelled %s: exit code 0, want a refusal\n%s", verb, id, out)
			}
		}
	}
	w.schedule("live", "order_update", people(200_000, 200_000), []string{"conn_4"})
	w.waits(lifeLimit, "an import begins", func() bool { return states("live") != "" })
	for _, name := range []string{"live", "running", "paused", "held", "closed", "approval", "importing"} {
		cancel(name)
	}
	if !p.kill() {
		t.Fatalf("%s: got its end, want it running until the kill", p)
	}
	cancel("left")
	p = w.serve()
	w.answering(p)
	want(t, w.audited(w.fired()["live"].ID))
	w.close(p, lists)
}
