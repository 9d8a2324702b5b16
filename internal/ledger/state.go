package ledger

import (
	"time"

	"campaignd/campaign"
)

// outcome is the state of a row of the table of the same name. No row means: not
// posted when seq is at or above the segment's mark, dispatched when below. The
// numbers are stored and stand in the predicates of partial indexes: never renumber.
type outcome int

const (
	deferred outcome = 1 // attempt n was not sent; the next may start at next_due
	retrying outcome = 2 // the intent of attempt n, n > 1 or released before, is committed
	doubt    outcome = 3 // attempt n may have been sent; since result_at
	unknown  outcome = 4 // a doubt whose window ended; adoptable for ever
	accepted outcome = 5 // has a message id; what webhooks said stands in rank and the times
	refused  outcome = 6 // definitely not sent, for good
	skipped  outcome = 7 // never posted, for the SkipReason in code
)

// The flags of an outcome.
const (
	flagAdopted        = 1  // accepted on a webhook's evidence
	flagMaybeDuplicate = 2  // sent again by policy while an earlier attempt was in doubt
	flagNoResend       = 4  // the service answered 200 without an id: no policy resends it
	flagAmbiguous      = 8  // an orphan fitted it and another delivery
	flagRepeatedID     = 16 // the service gave its message id to another delivery before
	flagAnyConnection  = 32 // a doubt of Quarantine: its segment was bound to no connection when the lost time began
)

// Reasons that the ledger itself writes where a lane would write a code.
const (
	codeInterrupted = "interrupted" // a doubt found by Recover: the owner died or lost its lease
	codeReleased    = "released"    // given back unposted
	codeRestored    = "restored"    // a doubt made by Quarantine: posted in the lost time, or not
)

// rank orders what webhooks say of a message: none < sent < failed < delivered < read.
// Failed outranks sent; delivered and read outrank failed, since a second device may
// still deliver (reliability.md 3).
type rank int

const (
	rankNone      rank = 0
	rankSent      rank = 1
	rankFailed    rank = 2
	rankDelivered rank = 3
	rankRead      rank = 4
)

// rankOf is the rank of a status event; ok is false for a status that is no webhook's.
func rankOf(s campaign.Status) (r rank, ok bool) {
	switch s {
	case campaign.Sent:
		return rankSent, true
	case campaign.Failed:
		return rankFailed, true
	case campaign.Delivered:
		return rankDelivered, true
	case campaign.Read:
		return rankRead, true
	}
	return rankNone, false
}

// status is what a report shows for an accepted delivery of this rank.
func (r rank) status() campaign.Status {
	switch r {
	case rankSent:
		return campaign.Sent
	case rankFailed:
		return campaign.Failed
	case rankDelivered:
		return campaign.Delivered
	case rankRead:
		return campaign.Read
	}
	return campaign.Accepted
}

// shown is the status of a delivery that has an outcome. alive tells whether the
// lease of its segment is live.
func shown(o outcome, r rank, alive bool) campaign.Status {
	switch o {
	case deferred:
		return campaign.Queued
	case retrying:
		return dispatched(alive)
	case doubt:
		return campaign.InDoubt
	case unknown:
		return campaign.Unknown
	case refused:
		return campaign.Refused
	case skipped:
		return campaign.Skipped
	}
	return r.status()
}

// dispatched is the status of an intent without a result: its owner will tell, or is dead.
func dispatched(alive bool) campaign.Status {
	if alive {
		return campaign.Sending
	}
	return campaign.InDoubt
}

// accepts says whether a fact or doubt about attempt may replace a row in state o of
// attempt n (reliability.md 1.3, "Who may write"). Rows that do not exist take every kind.
// ResultDoubt is also fenced by its epoch, by the caller.
func accepts(kind campaign.ResultKind, attempt int, o outcome, n int) bool {
	switch kind {
	case campaign.ResultAccepted:
		return o != accepted
	case campaign.ResultRefused, campaign.ResultDeferred:
		return (o == retrying || o == doubt) && attempt == n
	case campaign.ResultDoubt:
		return o == retrying && attempt == n
	}
	return false
}

// resends says whether Resolve makes a doubt with these flags deferred again; otherwise
// it becomes unknown. Evidence resends a recipient once and nothing ambiguous
// (reliability.md 1.8).
func resends(p campaign.OnUncertain, flags int) bool {
	switch p {
	case campaign.Resend:
		return flags&flagNoResend == 0
	case campaign.Evidence:
		return flags&(flagNoResend|flagAmbiguous|flagMaybeDuplicate) == 0
	}
	return false
}

// settleTime gives an event its time: its own, or when it was received if it has none
// or claims to lie more than five minutes in the future (reliability.md 3).
func settleTime(e campaign.StatusEvent, now time.Time) (at, received time.Time) {
	received = e.ReceivedAt
	if received.IsZero() {
		received = now
	}
	at = e.At
	if at.IsZero() || at.After(received.Add(5*time.Minute)) {
		at = received
	}
	return at, received
}

// eventDisabled stands in run.template_event for every event of campaign.TemplateEnds: from those no approval brings a run back.
const eventDisabled = "DISABLED"

// templatePause is what a run that the event pauses keeps of it: the event, or eventDisabled, and the sentence for the operator.
func templatePause(e campaign.TemplateEvent) (event, detail string) {
	event, detail = e.Event, "template "+e.Name+" ("+e.Language+") is "+e.Event
	if e.Effect() == campaign.TemplateEnds {
		event = eventDisabled
	}
	if e.Reason != "" {
		detail += ": " + e.Reason
	}
	return event, clip(detail, maxDetail)
}

// skipFor is what a suppression of this scope means for a run, "" for nothing.
func skipFor(s campaign.Scope, marketing bool) campaign.SkipReason {
	switch s {
	case campaign.ScopeAll:
		return campaign.Suppressed
	case campaign.ScopeMarketing:
		if marketing {
			return campaign.OptedOut
		}
	case campaign.ScopeUnreachable:
		return campaign.Unreachable
	}
	return ""
}

// stronger chooses the reason to show when several suppressions hold.
func stronger(a, b campaign.SkipReason) campaign.SkipReason {
	order := func(r campaign.SkipReason) int {
		switch r {
		case campaign.Suppressed:
			return 3
		case campaign.OptedOut:
			return 2
		case campaign.Unreachable:
			return 1
		}
		return 0
	}
	if order(b) > order(a) {
		return b
	}
	return a
}
