package ledger

import (
	"fmt"
	"time"

	"campaignd/campaign"
)

// Outcome is the state of a row of the table of the same name. No row means: not
// posted when seq is at or above the segment's mark, dispatched when below. The
// numbers are stored and stand in the predicates of partial indexes: never renumber.
type Outcome int

const (
	Deferred Outcome = 1 // attempt n was not sent; the next may start at next_due
	Retrying Outcome = 2 // the intent of attempt n, n > 1 or released before, is committed
	Doubt    Outcome = 3 // attempt n may have been sent; since result_at
	Unknown  Outcome = 4 // a doubt whose window ended; adoptable for ever
	Accepted Outcome = 5 // has a message id; what webhooks said stands in rank and the times
	Refused  Outcome = 6 // definitely not sent, for good
	Skipped  Outcome = 7 // never posted, for the SkipReason in code
)

// The flags of an outcome.
const (
	FlagAdopted        = 1  // accepted on a webhook's evidence
	FlagMaybeDuplicate = 2  // sent again by policy while an earlier attempt was in doubt
	FlagNoResend       = 4  // the service answered 200 without an id: no policy resends it
	FlagAmbiguous      = 8  // an orphan fitted it and another delivery
	FlagRepeatedID     = 16 // the service gave its message id to another delivery before
	FlagAnyConnection  = 32 // a doubt of Quarantine: its segment was bound to no connection when the lost time began
)

// Reasons that the ledger itself writes where a lane would write a code.
const (
	CodeInterrupted = "interrupted" // a doubt found by Recover: the owner died or lost its lease
	CodeReleased    = "released"    // given back unposted
	CodeRestored    = "restored"    // a doubt made by Quarantine: posted in the lost time, or not
)

// Rank orders what webhooks say of a message: none < sent < failed < delivered < read.
// Failed outranks sent; delivered and read outrank failed, since a second device may
// still deliver (reliability.md 3).
type Rank int

const (
	RankNone      Rank = 0
	RankSent      Rank = 1
	RankFailed    Rank = 2
	RankDelivered Rank = 3
	RankRead      Rank = 4
)

// RankOf is the rank of a status event; ok is false for a status that is no webhook's.
func RankOf(s campaign.Status) (r Rank, ok bool) {
	switch s {
	case campaign.Sent:
		return RankSent, true
	case campaign.Failed:
		return RankFailed, true
	case campaign.Delivered:
		return RankDelivered, true
	case campaign.Read:
		return RankRead, true
	}
	return RankNone, false
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

// Shown is the status of a delivery that has an outcome. alive tells whether the
// lease of its segment is live.
func Shown(o Outcome, r Rank, alive bool) campaign.Status {
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

// Dispatched is the status of an intent without a result: its owner will tell, or is dead.
func Dispatched(alive bool) campaign.Status {
	if alive {
		return campaign.Sending
	}
	return campaign.InDoubt
}

// Replaces says whether a fact or doubt about attempt may replace a row in state o of
// attempt n (reliability.md 1.3, "Who may write"). Rows that do not exist take every kind.
// ResultDoubt is also fenced by its epoch, by the caller.
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
// its receipt, which is now if the event has none.
func EventTimes(e campaign.StatusEvent, now time.Time) (at, received time.Time) {
	received = e.ReceivedAt
	if received.IsZero() {
		received = now
	}
	at, _ = campaign.EventTime(e.At, received)
	return at, received
}

// EventDisabled stands in run.template_event for every event of campaign.TemplateEnds: from those no approval brings a run back.
const EventDisabled = "DISABLED"

// TemplatePause is what a run that the event pauses keeps of it: the event, or EventDisabled, and the sentence for the operator.
func TemplatePause(e campaign.TemplateEvent) (event, detail string) {
	event, detail = e.Event, "template "+e.Name+" ("+e.Language+") is "+e.Event
	if e.Effect() == campaign.TemplateEnds {
		event = EventDisabled
	}
	if e.Reason != "" {
		detail += ": " + e.Reason
	}
	return event, Clip(detail, MaxDetail)
}
