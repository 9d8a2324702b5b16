package webhooks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"campaignd/internal/messaging"
)

// Options tune the Intake. The zero value works.
type Options struct {
	// MaxBody bounds a request's body in bytes. Default and most messaging.MaxBody: the platform sends up to
	// 3 MB (platform.md 4.2), and the service may wrap that in its own envelope.
	MaxBody int64
	// MaxBodies bounds what bodies longer than 16 KiB take together while they are read and
	// decoded, in bytes. Default 64 MiB.
	MaxBodies int64
	// MaxWaiting bounds the events that wait for a commit. Default 65,536: some 20 MB, and two to three seconds of
	// a ledger that takes 25,000 events a second, well within Hold.
	MaxWaiting int
	// Group is how many events a commit takes at most, but always a whole request. Default 512 (reliability.md 6.6).
	Group int
	// Hold is the longest that a request is kept, from its first byte read here to its answer. Default and most 10 s.
	Hold time.Duration
	// Commit is the longest that one commit may take. Default 5 s.
	Commit time.Duration
	// Drain is how long Run goes on committing what waits after its context has ended. Default 5 s.
	Drain time.Duration
	// RetryAfter is what a 503 asks for. Default 5 s; whole seconds are sent.
	RetryAfter time.Duration

	// Sweep is the shortest time between two sweeps, SweepJitter what is added at random so that
	// replicas do not sweep in step. Defaults 1 s and 1 s.
	Sweep, SweepJitter time.Duration
	// SweepTurn is asked before each sweep whether it is this process's: one sweeps for all replicas. It may ask the
	// ledger. Default: always.
	SweepTurn func(context.Context) bool
	// Seed makes the jitter of one process differ from that of another, and repeat in a simulation.
	Seed uint64

	// Decode reads the events of a signed body. Default messaging.DecodeEvents.
	Decode func(body []byte) ([]messaging.Event, error)
	// Connections names the connection whose number (digits without +) this is, or "". It is asked for events
	// that name no connection (design section 4), from many goroutines at once. Default: none is known.
	Connections func(number string) string
	// OptOut knows the messages and button payloads that mean "stop". The zero value knows the built-in list;
	// messaging.NewOptOut adds the payloads of the operator's own buttons.
	OptOut messaging.OptOut

	// Observe is told of what concerns more than one delivery and is not stored: number and account events, template
	// events that pause and resume nothing (QUALITY, CATEGORY ...), and failed statuses whose code stops more than
	// their own message (messaging.Failed). It is called before the answer, from many goroutines at once, again for an
	// event that is repeated, and must not block. It may be nil.
	Observe func(messaging.Event)
	// OnCommit is told of each commit by the goroutine that does them all: its events, how long it took, how it
	// ended. It must not block. It may be nil.
	OnCommit func(events int, took time.Duration, err error)
	// Log gets a line when something goes wrong, and when it works again. Default: discarded.
	Log *slog.Logger
}

// maxHold is the most that Hold may be: whoever waits longer has given up (reliability.md 3).
const maxHold = 10 * time.Second

func (o Options) withDefaults() (Options, error) {
	for _, d := range []struct {
		name string
		at   *time.Duration
		def  time.Duration
	}{
		{"Hold", &o.Hold, maxHold},
		{"Commit", &o.Commit, 5 * time.Second},
		{"Drain", &o.Drain, 5 * time.Second},
		{"RetryAfter", &o.RetryAfter, 5 * time.Second},
		{"Sweep", &o.Sweep, time.Second},
		{"SweepJitter", &o.SweepJitter, time.Second},
	} {
		if *d.at < 0 {
			return o, fmt.Errorf("webhooks: Options.%s is %v: want a positive duration, or 0 for %v", d.name, *d.at, d.def)
		}
		if *d.at == 0 {
			*d.at = d.def
		}
	}
	if o.Hold > maxHold {
		return o, fmt.Errorf("webhooks: Options.Hold is %v: want at most %v", o.Hold, maxHold)
	}
	for _, d := range []struct {
		name string
		at   *int64
		def  int64
	}{
		{"MaxBody", &o.MaxBody, messaging.MaxBody},
		{"MaxBodies", &o.MaxBodies, 64 << 20},
	} {
		if *d.at < 0 {
			return o, fmt.Errorf("webhooks: Options.%s is %d: want a positive number of bytes, or 0 for %d", d.name, *d.at, d.def)
		}
		if *d.at == 0 {
			*d.at = d.def
		}
	}
	for _, d := range []struct {
		name string
		at   *int
		def  int
	}{
		{"MaxWaiting", &o.MaxWaiting, 1 << 16},
		{"Group", &o.Group, 512},
	} {
		if *d.at < 0 {
			return o, fmt.Errorf("webhooks: Options.%s is %d: want a positive number of events, or 0 for %d", d.name, *d.at, d.def)
		}
		if *d.at == 0 {
			*d.at = d.def
		}
	}
	if o.MaxBody > messaging.MaxBody {
		return o, fmt.Errorf("webhooks: Options.MaxBody is %d: want at most %d, what can be decoded", o.MaxBody, messaging.MaxBody)
	}
	if o.Decode == nil {
		o.Decode = messaging.DecodeEvents
	}
	if o.Connections == nil {
		o.Connections = func(string) string { return "" }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
