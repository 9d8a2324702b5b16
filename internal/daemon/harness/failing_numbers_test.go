//go:build mutants

package harness

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"campaignd/internal/sandbox"
	"campaignd/throttle/throttletest"
)

// Five numbers of one run fail after 500 messages, each in its own way: requests get no answer,
// answers have no id, and pages come instead of answers. Each posts at most as many messages as may
// be under way at once (docs/limits.md#slots), and 3 for each test of its breaker. The sixth number
// goes on, and the others do within 10 s of the rest that follows their recovery.
func TestFailingNumbersCostNoRecipient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standard, func(o *sandbox.Options) {
		clients("co_1", "co_1", "co_1", "co_1", "co_1", "co_1")(o)
		noStatuses(o)
		o.Faults.Latency = sandbox.Delay{Median: 20 * time.Millisecond}
	})
	numbers := []string{"conn_1", "conn_2", "conn_3", "conn_4", "conn_5", "conn_6"}
	failing := numbers[:5]
	list := people(0, 12000)
	w.schedule("orders", "order_update", list, numbers, held...)
	tape := w.record()
	p := w.serve()
	w.waits(lifeLimit, "500 messages are sent", func() bool { return w.taken() >= 500 })

	faults := w.service.Faults()
	healthy := faults
	for i, page := range []sandbox.Page{
		{Status: 0}, {Status: 200, Body: `{"data":{}}`, Accepted: true}, {Status: 200}, {Status: 403}, {Status: 502},
	} {
		page.Share, page.Connections = 1, failing[i:i+1]
		faults.Pages = append(faults.Pages, page)
	}
	if err := w.service.SetFaults(faults); err != nil {
		t.Fatal(err)
	}
	failed := time.Now()
	watched := throttletest.Watch()
	var breakers []string
	for _, c := range failing {
		breakers = append(breakers, fmt.Sprintf("connection %s breaker", c))
	}
	w.waits(lifeLimit, fmt.Sprintf("the holds are %q", breakers), func() bool { return slices.Equal(w.held(), breakers) })
	time.Sleep(time.Until(failed.Add(9 * time.Second))) // the first rest of 5 s and a test are over
	recovered := time.Now()
	if err := w.service.SetFaults(healthy); err != nil {
		t.Fatal(err)
	}
	overslept := watched()
	tape.steady(t, standard, failed.Add(time.Second), recovered, overslept, "conn_6")
	// Requests without an answer or with one that proves nothing, and one test; more on a machine
	// that took longer than 9 s.
	most := unanswered(standard, 50*time.Millisecond+overslept) + 3*int(1+recovered.Sub(failed)/(10*time.Second))
	for _, c := range failing {
		if n := tape.count(c, failed, recovered); n > most || n < 5 {
			t.Errorf("%s: %d posts while it was failing, want 5 to %d", c, n, most)
		}
	}
	// 20s: the rest after the failed test, which began a second or more ago, is of 10 s.
	w.goesOn(tape, recovered, 20*time.Second, failing...)
	w.close(p, map[string][]entry{"orders": list})
}

// A firewall's page about one row's text in a hundred is about that row: it is refused after 3
// tries. Everybody else is sent to, and nothing is held.
func TestPoisonRowsAreRefusedAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standard, noStatuses)
	list := people(0, 600)
	poison := map[string]bool{}
	for i := 50; i < len(list); i += 100 {
		poison[list[i].to] = true
	}
	faults := w.service.Faults()
	page := sandbox.Page{Status: 403}
	for to := range poison {
		page.Phones = append(page.Phones, to)
	}
	faults.Pages = []sandbox.Page{page}
	if err := w.service.SetFaults(faults); err != nil {
		t.Fatal(err)
	}
	w.campaign("orders", "order_update", list)
	w.finish("orders", time.Minute)
	tries := map[string]int{}
	for pair, n := range w.service.Truth().Posts {
		tries[pair.To] += n
	}
	for _, l := range w.lines("latest") {
		status, code, n := "accepted", "", 1
		if poison[l["to"]] {
			status, code, n = "refused", "http_403", 3
		}
		if l["status"] != status || l["code"] != code || tries[l["to"]] != n {
			t.Errorf("%s: %s (%s) after %d tries, want %s (%s) after %d", l["to"], l["status"], l["code"], tries[l["to"]], status, code, n)
		}
	}
	if got := w.held(); len(got) > 0 {
		t.Errorf("holds %q, want none", got)
	}
	want(t, w.deliver(3*time.Minute, func() []problem {
		return compare(list, w.lines("latest"), w.sent("order_update"))
	}))
	want(t, w.audited("latest"))
}

// Every message of five clients fails later, each for another reason, which a webhook tells. At
// most the messages of 3 s more are posted. The hold has the scope that the code says, ends by the
// event that lifts it, by time or by the operator, and sending goes on within 10 s. The sixth
// client is not disturbed.
func TestFailuresByWebhookStopWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	failuresByWebhook(t, newWorld(t, failingRate, failingClients).stage())
}

func TestClusterFailuresByWebhook(t *testing.T) {
	t.Parallel()
	failuresByWebhook(t, newCluster(t, 2, failingRate, failingClients).stage())
}

const failingRate = 40

func failingClients(o *sandbox.Options) { clients("co_1", "co_2", "co_3", "co_4", "co_5", "co_6")(o) }

func failuresByWebhook(t *testing.T, w stage) {
	const rate, after = failingRate, 300 * time.Millisecond
	troubles := []struct {
		code int
		hold string
		lift func() error // nil: it ends by itself
	}{
		{131042, "account conn_1 131042", func() error { return w.service.SetAccount("co_1", "active") }},
		{131031, "account conn_2 131031", func() error { w.hold("lift", "account", "conn_2"); return nil }},
		{131048, "connection conn_3 131048", func() error { return w.service.SetNumber("conn_3", "connected") }},
		{132015, "template conn_4/order_update/en_US 132015", func() error { return w.service.SetTemplate("order_update", "", "approved") }},
		{130429, "connection conn_5 130429", nil}, // the first delivery ends it
	}
	lists := map[string][]entry{}
	name := func(i int) string { return fmt.Sprint("client", i+1) }
	for i := range 6 {
		list := people(10_000*i, 3000)
		lists[name(i)] = list
		w.schedule(name(i), "order_update", list, []string{fmt.Sprint("conn_", i+1)}, held...)
	}
	tape := w.record()
	w.begin()
	w.waits(lifeLimit, "every client sends", func() bool {
		for _, n := range w.service.Stats().Connections {
			if n.Accepted < 20 {
				return false
			}
		}
		return true
	})
	faults := w.service.Faults()
	healthy := faults
	var expect []string
	for i, fault := range troubles {
		faults.FailLater = append(faults.FailLater, sandbox.LaterFailure{
			Failure:     sandbox.Failure{Code: fault.code, Share: 1, After: sandbox.Delay{Median: after}},
			Connections: []string{fmt.Sprint("conn_", i+1)},
		})
		expect = append(expect, fault.hold)
	}
	slices.Sort(expect)
	if err := w.service.SetFaults(faults); err != nil {
		t.Fatal(err)
	}
	failed := time.Now()
	watched := throttletest.Watch()
	w.waits(lifeLimit, fmt.Sprintf("the holds are %q", expect), func() bool { return slices.Equal(w.held(), expect) })
	runs := w.fired()
	// 130429 is tested again after 5 s. The others stay as they are.
	stopped := w.falls(tape, silence, "conn_1", "conn_2", "conn_3", "conn_4").Add(1)
	late := watched()
	tape.steady(t, rate, failed.Add(time.Second), time.Now(), late, "conn_6")
	for i := range troubles {
		c := fmt.Sprint("conn_", i+1)
		n, most := tape.count(c, failed, failed.Add(after+4*time.Second)), most(rate, after+3*time.Second)
		if n > most && late <= throttletest.Busy {
			t.Errorf("%d: %d posts after it began, want at most %d", troubles[i].code, n, most)
		}
		w.waits(lifeLimit, c+" waits for a hold", func() bool { return w.limited(runs[name(i)].ID) == "hold" })
	}
	for i := range 4 {
		if n := tape.count(fmt.Sprint("conn_", i+1), stopped, time.Now()); n > 0 {
			t.Errorf("%d: %d posts while it was held, want 0", troubles[i].code, n)
		}
	}
	if err := w.service.SetFaults(healthy); err != nil {
		t.Fatal(err)
	}
	for i, fault := range troubles {
		healed := time.Now()
		if fault.lift != nil {
			if err := fault.lift(); err != nil {
				t.Fatal(err)
			}
		}
		w.goesOn(tape, healed, 15*time.Second, fmt.Sprint("conn_", i+1)) // 130429: a rest of at most 5 s before
	}
	w.waits(lifeLimit, "nothing is held", func() bool { return len(w.held()) == 0 })
	w.end(lists)
}
