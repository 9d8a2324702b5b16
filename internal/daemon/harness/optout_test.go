//go:build mutants

package harness

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"campaignd/internal/sandbox"
	"campaignd/throttle/throttletest"
)

// Recipients write STOP while a run sends and its processes are killed. A recipient whose STOP was
// answered 2xx is not posted to afterwards, also not by the next campaign on the same ledger.
func TestStopIsObeyedByKilledProcesses(t *testing.T) {
	t.Parallel()
	draw := drawOf(t)
	w := newWorld(t, 20, nil) // 5 s of sending
	list := listOf(400, draw)
	w.campaign("sale", "spring_sale", list)
	var stopping []string // the last rows of the list
	for _, e := range list[300:] {
		if e.skip == "" {
			stopping = append(stopping, e.to)
		}
	}

	var mu sync.Mutex
	posted := map[string]time.Time{}
	var once sync.Once
	written := make(chan struct{})
	watched := throttletest.Watch()
	hear := func(e sandbox.Event) {
		if e.Kind != "post" {
			return
		}
		mu.Lock()
		posted[e.To] = e.At
		mu.Unlock()
		once.Do(func() {
			defer close(written)
			for _, to := range stopping {
				if _, err := w.service.Receive(sandbox.Inbound{Connection: "conn_1", From: to, Text: "STOP"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	w.listen(hear)
	for _, n := range []int{1, 3, 5} { // these transactions hold the STOPs
		p := w.run("sale", fmt.Sprintf("CAMPAIGND_CRASH=webhook_uncommitted:%d", n))
		select {
		case <-p.done:
		case <-time.After(lifeLimit):
			t.Fatalf("got no end within %v, want one at webhook_uncommitted:%d", lifeLimit, n)
		}
		if !p.byItself() {
			t.Fatalf("%s: got %s, want its end at the crash point", p, w.ending(p))
		}
	}
	<-written
	for {
		p := w.run("sale")
		if code := p.wait(3 * time.Minute); code != 0 && code != 3 {
			t.Fatalf("%s: exit code %d, want 0 or 3\n%s", p, code, tail(p.stderr.String(), 20))
		}
		if state, _ := w.state("latest"); state == "finished" {
			break
		}
	}
	w.listen(nil)

	// The time from the beginning of an intent's transaction to its POST: two groups of 50 ms, and the
	// commits of a busy machine. The rows that stop are sent 15 s and more after their STOP.
	ahead := time.Second
	if watched() > throttletest.Busy {
		ahead = 5 * time.Second
	}
	acked := map[string]time.Time{}
	for _, o := range w.service.Stats().OptOuts {
		acked[o.Phone] = o.AckedAt
	}
	lines := w.lines("latest")
	expected := slices.Clone(list)
	obeyed := 0
	for i, e := range list {
		if e.skip != "" || !slices.Contains(stopping, e.to) {
			continue
		}
		if at := acked[e.to]; at.IsZero() {
			t.Errorf("the STOP of %s: got no 2xx, want one", e.to)
		} else if p, ok := posted[e.to]; ok && p.After(at.Add(ahead)) {
			t.Errorf("%s: got a POST at %v, want none later than %v after its STOP was answered at %v", e.to, p, ahead, at)
		}
		if lines[i]["status"] == "skipped" {
			obeyed++
			expected[i].skip = "opted_out"
			if _, ok := posted[e.to]; ok {
				t.Errorf("row %d is skipped: got a POST, want none", i+1)
			}
		}
	}
	if obeyed < len(stopping)/3 {
		t.Errorf("%d of %d STOPs came before their POST, want a third or more", obeyed, len(stopping))
	}
	want(t, w.deliver(3*time.Minute, func() []problem {
		return compare(expected, w.lines("latest"), w.sent("spring_sale"))
	}))

	// The next campaign skips every recipient who wrote STOP and sends once to each other. Its list
	// does not have the recipients that the first run left unknown: a webhook that comes now could be
	// about either message, and would stay ambiguous (docs/protocol.md#adoption).
	unknown := map[string]bool{}
	for _, l := range w.lines("latest") {
		unknown[l["to"]] = unknown[l["to"]] || l["status"] == "unknown"
	}
	var again []entry
	for _, e := range list {
		if unknown[e.to] {
			continue
		}
		if _, out := acked[e.to]; out && e.skip == "" {
			e.skip = "opted_out"
		}
		again = append(again, e)
	}
	t.Logf("the second list has %d of %d rows", len(again), len(list))
	w.campaign("news", "newsletter", again)
	for _, d := range []death{
		{window: importChunk, point: "import_chunk", nth: 1},
		{window: beforePost, point: "before_post", nth: 30},
		{window: answerUnread, event: "accepted", nth: 20},
	} {
		if hit, why := w.kill(d, func(env ...string) *process { return w.run("news", env...) }); !hit {
			t.Fatalf("%s: got %s, want the kill", d, why)
		}
	}
	w.finish("news", time.Minute)
	want(t, w.deliver(3*time.Minute, func() []problem {
		return compare(again, w.lines("latest"), w.sent("newsletter"))
	}))
	for _, run := range []string{"1", "2"} {
		want(t, w.audited(run))
	}
	want(t, compare(expected, w.lines("1"), w.sent("spring_sale"))) // the rows of the first run did not change
}
