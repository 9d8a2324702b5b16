package messaging

import (
	"fmt"
	"time"
)

// Proof is what an exchange proves about the message (reliability.md 1.4).
type Proof uint8

const (
	// NotSent: the service certainly did not accept the message.
	NotSent Proof = iota + 1
	// Doubt: it may have; only a webhook can tell.
	Doubt
	// DoubtNoID: it did (200), but the answer holds no usable messageId. Never resent by any policy.
	DoubtNoID
)

// Action is what to do with the recipient after NotSent.
type Action uint8

const (
	// Refuse: final for this recipient.
	Refuse Action = iota + 1
	// RetryOnce: one more try (send_retryable, send_media, 131000 and the like, see table), then Refuse.
	RetryOnce
	// RetryLater: not the recipient's fault (connection refused, number paused): try again after the hold, no try counted.
	RetryLater
	// Slow: throttled; cut the number's rate and try again. No try counted.
	Slow
	// WaitPair: this recipient only: 6 s x 4^k later (131056). No try counted.
	WaitPair
)

// Hold is what else must stop.
type Hold uint8

const (
	HoldNothing Hold = iota
	// HoldPayload: the payload is at fault; repeated, it trips the run's breaker (FIX in platform.md 3).
	HoldPayload
	// HoldNumber: the connection may not send: pause runs on it (Wait > 0: by itself after Wait).
	HoldNumber
	// HoldTemplate: pause every run of this template and language.
	HoldTemplate
	// HoldAccount: key or client refused: pause everything.
	HoldAccount
	// HoldAllowance: 402 plan_limit_messages: pause everything of the plan.
	HoldAllowance
	// HoldConfig: 1010, redirects, wrong base URL: pause everything, the configuration is wrong.
	HoldConfig
)

// Feed is the suppression that a refusal writes.
type Feed uint8

const (
	FeedNothing     Feed = iota
	FeedOptOut           // recipient_opted_out, 131050: marketing
	FeedUnreachable      // 131026: unreachable for 90 days
)

// Error is the one error type of Send and of every other call: what happened, and
// what it means. Unwrap gives the transport's error if there was one.
type Error struct {
	Proof     Proof
	Action    Action // after NotSent
	Hold      Hold
	Feed      Feed
	Wait      time.Duration // how long to hold or wait; from Retry-After where given; 0: the caller's default
	Status    int           // HTTP status; 0 when there was no answer
	Code      string        // the service's stable `error`; for transport faults: time_out, reset, not_connected, accepted_no_id, http_502 ...
	Message   string        // prose, at most 300 bytes, safe to show
	Class     string        // meta.errorClass
	Platform  int           // meta.code; 0 when absent
	Retryable *bool         // meta.retryable
	TraceID   string        // meta.traceId
	RequestID string        // x-request-id
	Err       error
}

func (e *Error) Unwrap() error { return e.Err }

// Error says it in one line, without the key, the recipient or the text.
func (e *Error) Error() string {
	s := e.Code
	if e.Platform != 0 {
		s += fmt.Sprintf(" (platform code %d)", e.Platform)
	}
	if e.Status != 0 {
		s += fmt.Sprintf(", HTTP %d", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.RequestID != "" {
		s += " [request " + e.RequestID + "]"
	}
	return s
}

// Throttling reports whether the answer means "slow down": such an attempt never
// counts as a try (design section 4).
func (e *Error) Throttling() bool { return e.Action == Slow || e.Action == WaitPair }
