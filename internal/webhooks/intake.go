package webhooks

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/tracing"
)

// Intake is the HTTP handler of the service's webhooks. It answers 2xx only while Run runs.
type Intake struct {
	ledger   campaign.EventLedger
	verifier *messaging.Verifier // of the service; nil: only the platform posts events
	o        Options
	apps     atomic.Pointer[[]Platform]

	bodies  bodies
	queue   chan *queued
	waiting atomic.Int64 // events in queue
	running atomic.Bool  // Run was called
	closing atomic.Bool  // the context of Run has ended
	told    told         // which warnings the log has
	made    time.Time
	stopped chan struct{} // closed when Run has returned: no commit follows

	maxWaiting int64 // with the next two: the constants of these names, which tests lower
	maxBatch   int
	drainTime  time.Duration

	wrong    wrongSignatures
	signs    *signatures
	replayed replayed

	accounts accounts
	breakers breakers
	pairs    pairs
	counters counters
	ignored  ignored
	unlisted seldom // the line about events of RejectedUnlisted
}

// queued is one verified request that waits for its commit.
type queued struct {
	facts   campaign.Events
	changes []change
	events  int               // facts in all lists, and changes
	decoded []messaging.Event // of the service
	answer  chan error        // the result of the commit; buffered, so the writer never waits for a request
}

// New makes an Intake. The verifier may be nil if the options have Platforms. An error names the
// field of the options, or the ledger or the verifier that is missing.
func New(l campaign.EventLedger, v *messaging.Verifier, o Options) (*Intake, error) {
	if l == nil {
		return nil, errors.New("webhooks: no ledger")
	}
	if v == nil && len(o.Platforms) == 0 {
		return nil, errors.New("webhooks: no verifier; without a secret no webhook can be trusted")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	secrets := func() []messaging.Secret { return nil }
	if v != nil {
		secrets = v.Secrets
	}
	i := &Intake{
		ledger: l, verifier: v, o: o,
		bodies: bodies{limit: messaging.MaxBody, max: maxBodies},
		// A queued request has at least one event. 65,536 pointers of 8 bytes are 512 KiB.
		queue:   make(chan *queued, maxWaiting),
		made:    time.Now().UTC(),
		stopped: make(chan struct{}),

		maxWaiting: maxWaiting, maxBatch: maxBatch, drainTime: drainTime,

		signs:    newSignatures(secrets),
		counters: counters{rejected: make([]atomic.Uint64, len(rejections))},
	}
	i.SetPlatforms(o.Platforms)
	return i, nil
}

// SetPlatforms replaces the Platforms of the options for the requests that come from now on.
func (i *Intake) SetPlatforms(all []Platform) {
	apps := slices.Clone(all)
	for n := range apps {
		if v := apps[n].Verifier; v != nil {
			apps[n].secret = v.Secrets()[0].Fingerprint()
		}
	}
	i.apps.Store(&apps)
}

func (i *Intake) platforms() []Platform { return *i.apps.Load() }

// LedgerHeader names, in the answer to a request that was taken, the ledger that it went to, so
// that `campaignd doctor` notices an address that leads to another installation. Only someone who
// has a signing secret sees it.
const LedgerHeader = "Campaignd-Ledger"

// ServeHTTP takes one delivery (docs/protocol.md#webhook-intake). It answers 204 when the events
// are durable, otherwise the status of the Rejection, without a body. A 503 carries Retry-After.
func (i *Intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received := time.Now()
	if r.Method == http.MethodGet && len(i.platforms()) > 0 {
		i.challenge(w, r)
		return
	}
	_, span := tracing.Begin(r.Context(), "take webhook")
	rejection := i.take(w, r, received)
	span.End(string(rejection))
	if rejection == "" {
		i.counters.taken.Add(1)
		if i.o.Ledger != "" {
			w.Header()[LedgerHeader] = []string{i.o.Ledger}
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	n := rejection.index()
	i.counters.rejected[n].Add(1)
	if rejection == RejectedSignature {
		i.wrong.wait(r.Context(), received)
	}
	switch status := rejections[n].status; status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		w.Header().Set("Connection", "close") // the rest of the body is not read
	case http.StatusUnauthorized, http.StatusUnsupportedMediaType:
		w.Header().Set("Connection", "close") // a stranger keeps no connection open
	case http.StatusServiceUnavailable:
		if rejection == RejectedMemory {
			w.Header().Set("Connection", "close") // the rest of the body is not read
		}
		w.Header().Set("Retry-After", retryAfter)
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
	body, rejection := i.bodies.read(w, r, received)
	if rejection != "" {
		return rejection
	}
	// Without a deadline the server notices when the sender closes the connection.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	q, rejection := i.open(r.Context(), r.Header, body.bytes, received)
	body.release()
	if q == nil {
		return rejection
	}
	if q.events > 0 {
		if failed := i.await(r, q, received); failed != "" {
			return failed
		}
	}
	if rejection == "" {
		i.replayed.took(q.decoded, received)
	}
	return rejection
}

// open verifies and decodes a body. A result of 0 events needs no commit.
func (i *Intake) open(ctx context.Context, h http.Header, body []byte, received time.Time) (*queued, Rejection) {
	if i.signedByPlatform(h) {
		return i.openPlatform(ctx, h, body, received)
	}
	if i.verifier == nil {
		return nil, RejectedSignature
	}
	secret, err := i.verifier.Verify(h, body, received)
	if err != nil {
		i.refuse(err, body, received)
		return nil, RejectedSignature
	}
	i.told.verified.Store(true)
	events, err := i.o.Decode(body)
	if err != nil {
		i.o.Log.Warn("a signed webhook cannot be decoded; answered 400, so the service will repeat it",
			"err", messaging.Scrub(err.Error(), 300), "bytes", len(body))
		return nil, RejectedUndecodable
	}
	if telling(events) {
		i.signs.verified[secret].Store(received.UnixNano())
	}
	q := i.queued(events, received, false)
	q.decoded = events
	return q, ""
}

// telling reports whether events prove their secret. `campaignd webhooks test` signs an event of no
// known kind with our own secret, which proves nothing about the service's.
func telling(events []messaging.Event) bool {
	return slices.ContainsFunc(events, func(e messaging.Event) bool { return e.Kind != messaging.KindUnknown })
}

// queued is the facts of the events of one request.
func (i *Intake) queued(events []messaging.Event, received time.Time, platform bool) *queued {
	facts, changes := i.fold(events, received.UTC(), platform)
	return &queued{facts: facts, changes: changes, events: facts.Len() + len(changes), answer: make(chan error, 1)}
}

// told says what the log has about requests without a signature: it is told once, and not after an
// event was verified, because then such a request is a stranger's.
type told struct{ unsigned, verified atomic.Bool }

// probe is the body that `campaignd doctor` posts without a signature.
const probe = "{}"

// refuse counts a wrong signature, which noteSignatures tells. A request without one counts for
// nothing.
func (i *Intake) refuse(err error, body []byte, received time.Time) {
	if !errors.Is(err, messaging.ErrNoSignature) {
		i.signs.refused(received.UTC(), false)
		return
	}
	if string(body) != probe && !i.told.verified.Load() && !i.told.unsigned.Swap(true) {
		i.o.Log.Warn("a webhook without a signature was refused, and none has been verified yet: see webhooks.signature, which names the " +
			"header of the service; or a stranger posts there")
	}
}

// await queues the request and waits until it is committed.
func (i *Intake) await(r *http.Request, q *queued, received time.Time) Rejection {
	if n := i.waiting.Add(int64(q.events)); n > i.maxWaiting && n > int64(q.events) {
		i.waiting.Add(-int64(q.events))
		return RejectedFull
	}
	select {
	case i.queue <- q:
	default:
		i.waiting.Add(-int64(q.events))
		return RejectedFull
	}
	var err error
	select {
	case err = <-q.answer:
	case <-time.After(time.Until(received.Add(answerTime))):
		return RejectedLate
	case <-r.Context().Done():
		return RejectedGone
	case <-i.stopped:
		select { // the last batch of Run may have committed it
		case err = <-q.answer:
		default:
			return RejectedStopping
		}
	}
	if err != nil {
		return RejectedCommit
	}
	return ""
}
