package ledger

import (
	"fmt"
	"time"

	"campaignd/campaign"
)

// Outcome is the state of a row of the table outcome. A delivery without a row is queued when its
// seq is at or above the segment's mark. Below it, the delivery is sending, or in doubt when its
// owner is dead. The numbers are stored, and partial indexes use them: never renumber.
type Outcome int

const (
	// Deferred: attempt n was not sent. The next may start at next_due.
	Deferred Outcome = 1
	// Retrying: the intent of attempt n is committed; n > 1, or the delivery was given back before.
	Retrying Outcome = 2
	// Doubt: attempt n may have been sent. The doubt began at result_at.
	Doubt Outcome = 3
	// Unknown: a doubt whose window ended. It can be adopted for ever.
	Unknown Outcome = 4
	// Accepted: it has a message id. The rank and the times hold what webhooks said.
	Accepted Outcome = 5
	// Refused: definitely not sent, for good.
	Refused Outcome = 6
	// Skipped: never posted, for the campaign.SkipReason in code.
	Skipped Outcome = 7
)

// The flags of an outcome.
const (
	FlagAdopted        = 1  // accepted on a webhook's evidence
	FlagMaybeDuplicate = 2  // sent again by policy while an earlier attempt was in doubt
	FlagNoResend       = 4  // the service answered 200 without an id: no policy resends it
	FlagAmbiguous      = 8  // an orphan fits it and another delivery
	FlagRepeatedID     = 16 // the service gave the same message id to another delivery
	FlagAnyConnection  = 32 // of schema 2: its open attempt may be of any connection
)

// Reasons that the ledger itself writes where a sender writes a code.
const (
	CodeInterrupted = "interrupted" // a doubt that Recover found: the owner died or lost its lease
	CodeReleased    = "released"    // given back unposted
	CodeRestored    = "restored"    // a doubt of Quarantine: perhaps posted in the lost time
)

// Rank orders what webhooks say of a message: none < sent < failed < delivered < read.
// Failed outranks sent; delivered and read outrank failed, since a second device may
// still deliver (docs/protocol.md#statuses).
type Rank int

const (
	RankNone      Rank = 0
	RankSent      Rank = 1
	RankFailed    Rank = 2
	RankDelivered Rank = 3
	RankRead      Rank = 4
)

// StatusRank is the rank of a status event. The error says that it is about no message, or that no
// webhook reports this status.
func StatusRank(e campaign.StatusEvent) (Rank, error) {
	if e.MessageID != "" {
		switch e.Status {
		case campaign.Sent:
			return RankSent, nil
		case campaign.Failed:
			return RankFailed, nil
		case campaign.Delivered:
			return RankDelivered, nil
		case campaign.Read:
			return RankRead, nil
		}
	}
	return RankNone, fmt.Errorf("status event %q: want sent, delivered, read or failed, of a message id", e.Status)
}

// status is what a report shows for an accepted delivery of this rank.
func (r Rank) status() campaign.Status {
	switch r {
	case RankSent:
		return campaign.Sent
	case RankFailed:
		return campaign.Failed
	case RankDelivered:
		return campaign.Delivered
	case RankRead:
		return campaign.Read
	}
	return campaign.Accepted
}

// shown is the status of a delivery that has an outcome. alive tells whether the
// lease of its segment is live.
func shown(o Outcome, r Rank, alive bool) campaign.Status {
	switch o {
	case Deferred:
		return campaign.Queued
	case Retrying:
		return Dispatched(alive)
	case Doubt:
		return campaign.InDoubt
	case Unknown:
		return campaign.Unknown
	case Refused:
		return campaign.Refused
	case Skipped:
		return campaign.Skipped
	}
	return r.status()
}

// Dispatched is the status of an intent without a result. alive tells whether the lease of its
// segment is live: then its owner is still at it.
func Dispatched(alive bool) campaign.Status {
	if alive {
		return campaign.Sending
	}
	return campaign.InDoubt
}

// Replaces says whether a result of this kind about attempt may replace a row in state o of
// attempt n (docs/protocol.md#results). A delivery without a row takes every kind. The caller also
// drops a doubt of an older epoch (Merge.Fenced).
func Replaces(kind campaign.ResultKind, attempt int, o Outcome, n int) bool {
	switch kind {
	case campaign.ResultAccepted:
		return o != Accepted
	case campaign.ResultRefused, campaign.ResultDeferred:
		return (o == Retrying || o == Doubt) && attempt == n
	case campaign.ResultDoubt:
		return o == Retrying && attempt == n
	}
	return false
}

// Merge is what a refusal, a deferral or a doubt writes where Replaces lets it. Times are in
// milliseconds.
type Merge struct {
	State                 Outcome
	Tries, Flags          int64 // are added to those of the row
	At, IntentAt, NextDue int64
	Fenced                bool // a decision: dropped when its segment has another epoch
}

// MergeOf returns what a result writes that is no acceptance.
func MergeOf(r *campaign.Result) Merge {
	m := Merge{At: Millis(OrNow(r.At))}
	switch r.Kind {
	case campaign.ResultRefused:
		m.State = Refused
	case campaign.ResultDeferred:
		m.State, m.NextDue = Deferred, Millis(r.NotBefore)
		if r.Counts {
			m.Tries = 1
		}
	case campaign.ResultDoubt:
		m.State, m.IntentAt, m.Fenced = Doubt, Millis(r.IntentAt), !r.NoResend
		if r.NoResend {
			m.Flags = FlagNoResend
		}
	}
	return m
}

// CheckResult refuses a result that no backend records.
func CheckResult(r *campaign.Result) error {
	switch r.Kind {
	case campaign.ResultAccepted:
		if r.MessageID == "" {
			return fmt.Errorf("run %d seq %d: accepted without a message id is a doubt (NoResend)", r.Run, r.Seq)
		}
	case campaign.ResultRefused, campaign.ResultDeferred, campaign.ResultDoubt:
	default:
		return fmt.Errorf("run %d seq %d: result kind %d", r.Run, r.Seq, r.Kind)
	}
	return nil
}

// EventTimes gives a status its two times: the time to store (campaign.EventTime), and the time of
// its receipt, which is now if the event has none. untimed says that the first is the second,
// because the event's own time is missing or wrong.
func EventTimes(e campaign.StatusEvent, now time.Time) (at, received time.Time, untimed bool) {
	received = e.ReceivedAt
	if received.IsZero() {
		received = now
	}
	at, wrong := campaign.EventTime(e.At, received)
	return at, received, wrong || e.At.IsZero()
}
