package operator

import (
	"context"
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// Exports are the operations that give out people's data: phone numbers, messages or names. The log
// of actions has a line of each.
var Exports = []string{"deliveries", "doubts", "export", "export-person", "export-suppressions", "person", "suppressions"}

// Done is the result of an action that was done.
const Done = "done"

// Trail collects the lines that one request writes into the log of actions, so that each gets the
// result of the request and the address of its caller.
type Trail struct {
	remote string // "": a user of this machine

	mu    sync.Mutex
	noted []campaign.Action
	idle  bool // the request did nothing, so it needs no line
}

// from tells the address of the caller; "": a user of this machine.
func (t *Trail) from() string {
	if t == nil || t.remote == "" {
		return ""
	}
	return "from " + t.remote
}

// Idle says that the request has done nothing and was not refused.
func (t *Trail) Idle() {
	if t != nil {
		t.mu.Lock()
		t.idle = true
		t.mu.Unlock()
	}
}

// NewTrail makes the trail of a request from an address, with or without its port.
func NewTrail(remote string) *Trail { return &Trail{remote: addressOf(remote)} }

// finishFor is how long the result of an action may take, also if its caller has left.
const finishFor = 5 * time.Second

// Finish writes the result of a request into each of its lines. If there is none, and what names an
// operation, it writes one: a request that was refused has a line too.
func (d *Session) Finish(ctx context.Context, what, on, result string) error {
	if d.Trail == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishFor)
	defer cancel()
	d.Trail.mu.Lock()
	noted, idle := slices.Clone(d.Trail.noted), d.Trail.idle
	d.Trail.mu.Unlock()
	if len(noted) == 0 && what != "" && !idle {
		a := campaign.Action{ID: random(8), At: time.Now().UTC(), By: d.By, What: what, On: on, Detail: joined(d.Trail.from(), result)}
		return d.Ledger.NoteAction(ctx, a)
	}
	for _, a := range noted {
		a.Detail = joined(a.Detail, result)
		if err := d.Ledger.NoteAction(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// Result is the result of an action that ended with err. What may be a phone number is masked,
// because the log names nobody and an erasure does not reach it.
func Result(err error) string {
	if err == nil {
		return Done
	}
	return "not done: " + messaging.Scrub(sentence.FirstLine(err.Error()), 200)
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
