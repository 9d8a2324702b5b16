package ledger

import (
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
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
	// Unknown: a doubt whose window ended. An event can prove it at any later time.
	Unknown Outcome = 4
	// Accepted: it has a message id. The rank and the times are what webhooks said.
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
)

// Reasons that the ledger itself writes where a sender writes a code.
const (
	CodeInterrupted = "interrupted" // a doubt that Recover found: the owner died or lost its lease
	CodeReleased    = "released"    // given back unposted
	CodeRestored    = campaign.Restored
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
// segment is live: then its owner may still record the result.
func Dispatched(alive bool) campaign.Status {
	if alive {
		return campaign.Sending
	}
	return campaign.InDoubt
}

// Resolved are the doubts that a policy ends, by their row ids.
type Resolved struct{ Resend, Unknown []int64 }

// Doubt adds the doubt of rid: it is sent again if the policy says so and flags lack FlagNoResend.
func (r *Resolved) Doubt(p campaign.OnUncertain, rid, flags int64) {
	if p == campaign.UncertainResend && flags&FlagNoResend == 0 {
		r.Resend = append(r.Resend, rid)
	} else {
		r.Unknown = append(r.Unknown, rid)
	}
}

// GivenUp is the last state of a delivery whose last attempt was not sent: o (Refused or Skipped),
// or Unknown if an earlier attempt may have been sent. SkippedState is the same in SQL, for
// statements about many rows.
func GivenUp(o Outcome, flags int64) Outcome {
	if flags&FlagMaybeDuplicate != 0 {
		return Unknown
	}
	return o
}

// SkippedState is the part of an UPDATE of outcomes that sets the state of deliveries that are
// skipped, as GivenUp says.
const SkippedState = `state = CASE WHEN flags & 2 /* may be a duplicate */ <> 0 THEN 4 /* unknown */ ELSE 7 /* skipped */ END`

// Row is the outcome that a delivery has when a result arrives. Zero: it has none.
type Row struct {
	State   Outcome
	Attempt int
	Flags   int64
}

// Merge is what a result writes, if Over allows it. Times are in milliseconds.
type Merge struct {
	State                 Outcome
	Attempt               int
	Tries, Flags          int64 // are added to those of the row
	At, IntentAt, NextDue int64
	Fenced                bool // a decision: ignored when its segment has another epoch
	Noted                 bool // writes only its flags, code and detail
}

// MergeOf returns what a result writes.
func MergeOf(r *campaign.Result) Merge {
	m := Merge{Attempt: r.Attempt, At: Millis(OrNow(r.At))}
	switch r.Kind {
	case campaign.ResultAccepted:
		m.State = Accepted
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

// Over returns what the result writes over a row (docs/protocol.md#results). ok is false if that is
// nothing. The caller also ignores a doubt of an older epoch (Fenced). PostgreSQL writes many
// results at once and has this rule in its SQL, and both databases have the rule of acceptances
// there; a test of ledgertest compares them with this function.
func (m Merge) Over(row Row) (_ Merge, ok bool) {
	switch {
	case row.State == 0:
		return m, true
	case m.State == Accepted:
		return m, row.State != Accepted
	case m.Attempt != row.Attempt, m.State == 0:
		return m, false
	case row.State == Doubt && m.Flags == FlagNoResend:
		m.Noted = true
		return m, true
	case m.State == Refused:
		m.State = GivenUp(Refused, row.Flags)
	}
	return m, row.State == Retrying || row.State == Doubt && m.State != Doubt
}

// Unsent returns the row ids of the deliveries whose attempts were certainly not sent: refusals and
// deferrals, which give places back.
func Unsent(rs []campaign.Result) (rids []int64) {
	for i := range rs {
		if r := &rs[i]; r.Kind == campaign.ResultRefused || r.Kind == campaign.ResultDeferred {
			rids = append(rids, RowID(r.Run, r.Seq))
		}
	}
	return rids
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

// EventTimes returns the times of a status. at is the time to store (reception.EventTime), at least
// 1 ms after 1970 began, because 0 is stored for none. received is when it came, or now if the
// event does not say. untimed says that at is received, because the event's own time is missing or
// wrong.
func EventTimes(e campaign.StatusEvent, now time.Time) (at, received time.Time, untimed bool) {
	received = e.ReceivedAt
	if received.IsZero() {
		received = now
	}
	at, wrong := reception.EventTime(e.At, received)
	if Millis(at) < 1 {
		at = time.UnixMilli(1)
	}
	return at, received, wrong || e.At.IsZero()
}
