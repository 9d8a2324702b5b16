//go:build mutants

package harness

import (
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// While the service does not tell the rates and tiers of its numbers, nothing is sent over a number
// whose rate or tier is not configured. It goes on soon after they are told, and a number that is
// also used in the app has no second above its own 20.
func TestNothingIsSentAtAnUnknownRate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20, func(o *sandbox.Options) {
		clients("co_1", "co_1", "co_1")(o)
		noStatuses(o)
		for i := range o.Connections {
			o.Connections[i].Coexistence, o.Connections[i].Rate = true, 0
		}
		o.Faults.Away = []string{"numbers"}
	})
	w.env = append(w.env, "CAMPAIGND_NUMBERS={conn_1: {rate: 20, tier: -1}, conn_2: {tier: -1}, conn_3: {rate: 20}}")
	list := people(0, 2000)
	w.schedule("orders", "order_update", list, []string{"conn_1", "conn_2", "conn_3"}, held...)
	tape := w.record()
	began := time.Now()
	p := w.serve()
	w.goesOn(tape, began, lifeLimit, "conn_1")
	time.Sleep(3 * time.Second)
	for connection, unknown := range map[string]string{"conn_2": "rate", "conn_3": "tier"} {
		if n := tape.count(connection, began, time.Now()); n > 0 {
			t.Errorf("%d posts over %s at an unknown %s, want 0", n, connection, unknown)
		}
	}
	if code, out := w.ask("why", w.fired()["orders"].ID); code != 0 || !strings.Contains(out, "rate") {
		t.Errorf("why: exit code %d, want 0 and that the rate is not known\n%s", code, out)
	}
	told := time.Now()
	faults := w.service.Faults()
	faults.Away = nil
	if err := w.service.SetFaults(faults); err != nil {
		t.Fatal(err)
	}
	w.goesOn(tape, told, 10*time.Second, "conn_2", "conn_3")
	time.Sleep(2 * time.Second)
	for _, n := range w.service.Stats().Connections {
		if most := w.mostIn(20); n.WorstSecond > most {
			t.Errorf("%s: %d POSTs in one second, want at most %d", n.Connection, n.WorstSecond, most)
		}
	}
	w.close(p, map[string][]entry{"orders": list})
}
