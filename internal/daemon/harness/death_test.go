//go:build mutants

package harness

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"campaignd/internal/sandbox"
)

// window is the stage of a recipient's walk in which a process dies
// (docs/protocol.md#crash-points).
type window string

const (
	importChunk        window = "import chunk"
	beforeIntent       window = "before the intent's commit"
	beforePost         window = "between intent and POST"
	onTheWire          window = "on the wire"
	answerUnread       window = "answer unread"
	outcomeUncommitted window = "outcome uncommitted"
	webhookUncommitted window = "webhook uncommitted"
	anywhere           window = "anywhere"
)

// exact lists the windows that need leastKills kills each.
var exact = []window{importChunk, beforeIntent, beforePost, onTheWire, answerUnread, outcomeUncommitted, webhookUncommitted}

const leastKills = 3

// death is a planned end of a process.
type death struct {
	window window
	// point is the point at which the process ends itself, at its nth pass. "" for a kill by the
	// harness.
	point string
	// event is the sandbox's event at which the harness kills the process, while the sandbox
	// handles the nth one. "" with the window anywhere: the start of the process.
	event string
	nth   int // from 1
	// delay is the time from the event to the kill, for the window anywhere.
	delay time.Duration
}

func (d death) String() string {
	switch {
	case d.point != "":
		return fmt.Sprintf("%s (%s:%d)", d.window, d.point, d.nth)
	case d.window == anywhere && d.event == "":
		return fmt.Sprintf("%s (%v after the start)", d.window, d.delay)
	case d.window == anywhere:
		return fmt.Sprintf("%s (%v after POST %d)", d.window, d.delay, d.nth)
	}
	return fmt.Sprintf("%s (%s %d)", d.window, d.event, d.nth)
}

// imports returns deaths of an import of two chunks or more: before the commit of the first chunk,
// of the second chunk, and of the first chunk after a resume.
func imports() []death {
	return []death{
		{window: importChunk, point: "import_chunk", nth: 1},
		{window: importChunk, point: "import_chunk", nth: 2},
		{window: importChunk, point: "import_chunk", nth: 1},
	}
}

// deaths plans n deaths of senders: some in each exact window, the others at random times.
func deaths(n int, draw *rand.Rand) []death {
	ways := []death{
		{window: beforeIntent, point: "intent_before_commit"},
		{window: beforePost, point: "intent_committed"},
		{window: beforePost, point: "before_post"},
		{window: onTheWire, event: "post"},
		{window: answerUnread, event: "accepted"},
		{window: answerUnread, point: "answer_unread"},
		{window: outcomeUncommitted, point: "answer_read"},
		{window: outcomeUncommitted, point: "outcome_uncommitted"},
		{window: webhookUncommitted, point: "webhook_uncommitted"},
	}
	var rest []death
	for _, way := range ways {
		times := 3
		if way.window == beforePost || way.window == answerUnread || way.window == outcomeUncommitted {
			times = 2 // these windows have two ways each
		}
		for range times {
			way.nth = 1 + draw.IntN(40)
			rest = append(rest, way)
		}
	}
	for i := 0; len(rest) < n-1; i++ {
		d := death{window: anywhere, event: "post", nth: 1 + draw.IntN(60), delay: time.Duration(draw.IntN(400)) * time.Millisecond}
		if i%4 == 0 {
			d = death{window: anywhere, delay: time.Duration(draw.IntN(300)) * time.Millisecond}
		}
		rest = append(rest, d)
	}
	draw.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	// The first death comes after the import, because an interrupted import continues with whole
	// segments and so on fewer numbers.
	return append([]death{{window: anywhere, event: "post", nth: 1}}, rest...)
}

// lifeLimit is how long a process may take until its planned death, or for anything else that a
// test waits for, however busy the machine is.
const lifeLimit = 3 * time.Minute

// kill starts a process with begin and ends it as d plans. hit is false when it ended otherwise;
// why is the reason.
func (w *world) kill(d death, begin func(env ...string) *process) (hit bool, why string) {
	w.t.Helper()
	var env []string
	if d.point != "" {
		env = []string{fmt.Sprintf("CAMPAIGND_CRASH=%s:%d", d.point, d.nth)}
	}
	life := make(chan *process, 1) // the event may come before begin returns
	var seen, held atomic.Int64
	aimed := make(chan struct{})
	if d.event != "" {
		w.listen(func(e sandbox.Event) {
			if e.Kind != d.event || seen.Add(1) != int64(d.nth) {
				return
			}
			if d.window == anywhere {
				close(aimed)
				return
			}
			// The sandbox's handler waits here with the request, so no answer has been written.
			p := <-life
			if p.kill() {
				held.Add(1)
			}
			close(aimed)
		})
		defer w.listen(nil)
	} else {
		close(aimed)
	}
	p := begin(env...)
	life <- p
	timer := time.NewTimer(lifeLimit)
	defer timer.Stop()
	if d.window == anywhere {
		select {
		case <-aimed:
			pause := time.NewTimer(d.delay)
			defer pause.Stop()
			select {
			case <-pause.C:
			case <-p.done:
			}
		case <-p.done:
		case <-timer.C:
		}
		if p.kill() {
			return true, ""
		}
		return false, w.ending(p)
	}
	select {
	case <-p.done:
	case <-timer.C:
		p.kill()
		return false, "the point was not reached"
	}
	if d.point != "" {
		hit = p.byItself()
	} else {
		hit = p.killed()
		if hit {
			<-aimed
			hit = held.Load() == 1
		}
	}
	if !hit {
		why = w.ending(p)
	}
	return hit, why
}

// ending returns how a process ended that was not killed. A failure of the process ends the test.
func (w *world) ending(p *process) string {
	w.t.Helper()
	code := p.cmd.ProcessState.ExitCode()
	if code != 0 && code != 3 && !p.killed() {
		w.t.Fatalf("%s: exit code %d, want 0 or 3\n%s", p, code, tail(p.stderr.String(), 50))
	}
	return fmt.Sprintf("it ended with exit code %d", code)
}
