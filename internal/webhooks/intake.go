package webhooks

import (
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/mutant"
)

// Intake is the handler of the service's webhooks. It answers only while Run runs.
type Intake struct {
	ledger   campaign.EventLedger
	verifier *messaging.Verifier
	o        Options

	bodies  bodies
	queue   chan *letter
	waiting atomic.Int64  // events in queue
	running atomic.Bool   // Run was called
	closing atomic.Bool   // Run's context has ended
	trusted atomic.Bool   // a signature held, or it was said that none does
	stopped chan struct{} // closed when Run has returned: nobody commits any more

	counters counters
}

// letter is one verified request that waits for its commit.
type letter struct {
	facts  campaign.Events
	events int
	answer chan error // buffered: the writer never waits for a sender
}

// New makes an Intake. The verifier holds at least one secret by its own rules. Errors name the field.
func New(l campaign.EventLedger, v *messaging.Verifier, o Options) (*Intake, error) {
	if l == nil {
		return nil, errors.New("webhooks: no ledger")
	}
	if v == nil {
		return nil, errors.New("webhooks: no verifier; without a secret no webhook can be trusted")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Intake{
		ledger: l, verifier: v, o: o,
		bodies:  bodies{limit: o.MaxBody, max: o.MaxBodies},
		queue:   make(chan *letter, o.MaxWaiting), // a letter holds at least one event: pointers alone, 512 KiB
		stopped: make(chan struct{}),

		counters: counters{rejected: make([]atomic.Uint64, len(rejections))},
	}, nil
}

// ServeHTTP takes one delivery in the order of reliability.md 3. It answers 204 once the events
// are durable; else what the Rejection says, without a body. 503 carries Retry-After.
func (i *Intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received := time.Now()
	rejection := i.take(w, r, received)
	if rejection == "" {
		i.counters.taken.Add(1)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	n := rejection.index()
	i.counters.rejected[n].Add(1)
	switch status := rejections[n].status; status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		w.Header().Set("Connection", "close") // what is left of the body is not worth reading
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(int(max(i.o.RetryAfter/time.Second, 1))))
	}
	w.WriteHeader(rejections[n].status)
}

// take returns "" when the events of the request are durable.
func (i *Intake) take(w http.ResponseWriter, r *http.Request, received time.Time) Rejection {
	if r.Method != http.MethodPost {
		return RejectedMethod
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return RejectedEncoding
	}
	if i.closing.Load() {
		return RejectedStopping
	}
	// A ResponseWriter without deadlines (a recorder) gives an error; the server's own ReadTimeout is there as well.
	// The deadline is lifted after the body, since the server goes on reading to see whether the sender leaves.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(received.Add(i.o.Hold))
	body, rejection := i.bodies.read(w, r)
	if rejection != "" {
		return rejection
	}
	_ = control.SetReadDeadline(time.Time{})
	letter, rejection := i.open(r.Header, body.bytes, received)
	body.release()
	if rejection != "" || letter.events == 0 {
		return rejection
	}
	return i.await(r, letter, received)
}

// open verifies and decodes. A letter of 0 events holds nothing to be stored.
func (i *Intake) open(h http.Header, body []byte, received time.Time) (*letter, Rejection) {
	if _, err := i.verifier.Verify(h, body, received); err != nil {
		// Forgers are only counted. That nothing has ever held is for the operator, once: most likely the secret is wrong.
		if !i.trusted.Swap(true) {
			i.o.Log.Warn("a webhook was refused, and none has been taken yet: see webhooks.secrets; without webhooks neither statuses nor opt-outs are seen", "error", err)
		}
		return nil, RejectedSignature
	}
	i.trusted.Store(true)
	events, err := i.o.Decode(body)
	if err != nil {
		i.o.Log.Warn("a signed webhook cannot be decoded; answered 400, so the service will repeat it",
			"error", messaging.Scrub(err.Error(), 300), "bytes", len(body))
		return nil, RejectedUndecodable
	}
	facts := i.fold(events, received.UTC())
	n := len(facts.Statuses) + len(facts.Suppressions) + len(facts.Lifted) + len(facts.Templates)
	return &letter{facts: facts, events: n, answer: make(chan error, 1)}, ""
}

// await queues the letter and waits until it is committed.
func (i *Intake) await(r *http.Request, l *letter, received time.Time) Rejection {
	if n := i.waiting.Add(int64(l.events)); n > int64(i.o.MaxWaiting) && n > int64(l.events) {
		i.waiting.Add(-int64(l.events))
		return RejectedFull
	}
	select {
	case i.queue <- l:
	default:
		i.waiting.Add(-int64(l.events))
		return RejectedFull
	}
	if mutant.On("ack_before_commit") {
		return ""
	}
	patience := time.NewTimer(time.Until(received.Add(i.o.Hold)))
	defer patience.Stop()
	var err error
	select {
	case err = <-l.answer:
	case <-patience.C:
		return RejectedHeld
	case <-r.Context().Done():
		return RejectedGone
	case <-i.stopped:
		select { // committed by the last batch of Run
		case err = <-l.answer:
		default:
			return RejectedStopping
		}
	}
	if err != nil {
		return RejectedCommit
	}
	return ""
}
