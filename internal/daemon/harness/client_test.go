//go:build mutants

package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox"
	"campaignd/throttle/throttletest"
)

// Three of four clients under one key fail in the middle of their runs: one is suspended, the
// allowance of one ends, a template of one is paused. Each stops alone, with all of its numbers,
// and goes on after its recovery. An event of a recovery that is
// old or has no time lifts nothing. The fourth client goes on at its pace.
func TestAClientsTroubleIsItsOwn(t *testing.T) {
	t.Parallel()
	aClientsTrouble(t, newWorld(t, troubledRate, troubledClients).stage())
}

func TestClusterAClientsTroubleIsItsOwn(t *testing.T) {
	t.Parallel()
	aClientsTrouble(t, newCluster(t, 2, troubledRate, troubledClients).stage())
}

const troubledRate = 40

func troubledClients(o *sandbox.Options) {
	clients("co_1", "co_1", "co_2", "co_3", "co_4")(o)
	noStatuses(o)
	for _, id := range []string{"co_1", "co_2", "co_3", "co_4"} {
		o.Companies = append(o.Companies, sandbox.Company{ID: id, Allowance: 100_000})
	}
}

func aClientsTrouble(t *testing.T, w stage) {
	const rate = troubledRate
	// A suspension holds by the event (SUSPENDED) or by a refusal (account_deactivated), whichever
	// comes first.
	runs := []struct{ name, template, connections, hold string }{
		{"suspended", "order_update", "conn_1 conn_2", "company co_1 "},
		{"used", "order_update", "conn_3", "company co_2 plan_limit_messages"},
		{"paused", "newsletter", "conn_4", "template conn_4/newsletter/en_US PAUSED"},
		{"healthy", "order_update", "conn_5", ""},
	}
	lists := map[string][]entry{}
	var failing []string
	for i, r := range runs {
		list := people(10_000*i, 4000)
		lists[r.name] = list
		connections := strings.Fields(r.connections)
		w.schedule(r.name, r.template, list, connections, held...)
		if r.hold != "" {
			failing = append(failing, connections...)
		}
	}
	tape := w.record()
	w.begin()
	w.waits(lifeLimit, "every number sends", func() bool {
		for _, n := range w.service.Stats().Connections {
			if n.Accepted < 20 {
				return false
			}
		}
		return true
	})

	began := time.Now()
	watched := throttletest.Watch()
	for _, err := range []error{
		w.service.SetCompany("co_1", "suspended"), w.service.SetAllowance("co_2", 0), w.service.SetTemplate("newsletter", "", "paused"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.waits(lifeLimit, "every failing client is held", func() bool {
		got := w.held()
		return !slices.ContainsFunc(runs[:3], func(r struct{ name, template, connections, hold string }) bool {
			return !slices.ContainsFunc(got, func(h string) bool { return strings.HasPrefix(h, strings.TrimSuffix(r.hold, "PAUSED")) })
		})
	})
	for _, r := range runs[:3] {
		id := w.fired()[r.name].ID
		w.waits(lifeLimit, r.name+" waits for a hold", func() bool { return w.limited(id) == "hold" })
	}
	stopped := w.falls(tape, silence, failing...).Add(1)
	// Events of earlier recoveries come again, and events without a time.
	approved := map[string]any{"name": "newsletter", "language": "en-US", "event": "APPROVED", "category": "MARKETING"}
	active := map[string]any{"companyId": "co_1", "status": "active"}
	for _, news := range []sandbox.Announcement{
		{Type: "template.status", Connection: "conn_4", Ago: 24 * time.Hour, Data: approved},
		{Type: "template.status", Connection: "conn_4", NoTime: true, Data: approved},
		{Type: "account.updated", Company: "co_1", Ago: 24 * time.Hour, Data: active},
		{Type: "account.updated", Company: "co_1", NoTime: true, Data: active},
	} {
		if err := w.service.Announce(news); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(3 * time.Second)
	for _, c := range failing {
		if n := tape.count(c, stopped, time.Now()); n > 0 {
			t.Errorf("%s: %d posts while it was held, want 0; holds %q", c, n, w.held())
		}
	}
	tape.steady(t, rate, began.Add(time.Second), time.Now(), watched(), "conn_5")

	recovered := time.Now()
	for _, err := range []error{
		w.service.SetCompany("co_1", "active"), w.service.SetAllowance("co_2", 100_000), w.service.SetTemplate("newsletter", "", "approved"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.hold("lift", "company", "co_2") // an allowance has no event
	// 20s: the first count of an allowance in Redis takes 8 s (docs/limits.md#allowance).
	w.goesOn(tape, recovered, 20*time.Second, failing...)
	w.waits(lifeLimit, "nothing is held", func() bool { return len(w.held()) == 0 })
	w.end(lists)
}
