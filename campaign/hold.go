package campaign

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"campaignd/campaign/reception"
	"campaignd/internal/messaging"
)

// HoldScope is the kind of thing that a hold stops.
type HoldScope string

// The scopes, with what Hold.ID is.
const (
	HoldKey        HoldScope = "key"        // an API key, by its fingerprint (never the key)
	HoldCompany    HoldScope = "company"    // a company at the service, by its companyId
	HoldAccount    HoldScope = "account"    // a business account of the platform
	HoldTemplate   HoldScope = "template"   // a template of one account: see TemplateID
	HoldPortfolio  HoldScope = "portfolio"  // the accounts that share a tier
	HoldConnection HoldScope = "connection" // a connection, by its connectionId
	HoldRun        HoldScope = "run"        // a run, by Run.ID
)

// HoldScopes lists every scope, from the widest to the narrowest.
var HoldScopes = []HoldScope{HoldKey, HoldCompany, HoldPortfolio, HoldAccount, HoldTemplate, HoldConnection, HoldRun}

// HoldAny is the ID of a hold that stops everything of its scope.
const HoldAny = "*"

// HoldSource is what began or ended a hold.
type HoldSource string

// The sources.
const (
	HoldByRefusal  HoldSource = "refusal"  // an answer of the service to a send
	HoldByStatus   HoldSource = "status"   // a failed status of a message
	HoldByEvent    HoldSource = "event"    // a template, number or account event
	HoldByBreaker  HoldSource = "breaker"  // answers that prove nothing, or messages that failed as too fast
	HoldByOperator HoldSource = "operator" // a command
)

// HoldSources lists every source.
var HoldSources = []HoldSource{HoldByRefusal, HoldByStatus, HoldByEvent, HoldByBreaker, HoldByOperator}

// holdScopes tells the scope of the hold that an answer or a failed status begins.
var holdScopes = map[messaging.Hold]HoldScope{
	messaging.HoldConnection: HoldConnection,
	messaging.HoldTemplate:   HoldTemplate,
	messaging.HoldAccount:    HoldAccount,
	messaging.HoldCompany:    HoldCompany,
	messaging.HoldKey:        HoldKey,
}

// shortWait is the longest Retry-After of a throttling answer that holds no number: the message
// waits that long itself, and the rate is cut. A service that throttles some messages at random
// would otherwise stop the number for most of the time.
const shortWait = 2 * time.Second

// RefusalHold returns the hold that a refused request begins; false: it begins none. posted is when
// the request was sent, and now is when its answer came.
func RefusalHold(e *messaging.Error, o Origin, posted, now time.Time) (Hold, bool) {
	if e.Proof != messaging.NotSent {
		return Hold{}, false
	}
	what, by := e.Hold, e.EndedBy
	if what == messaging.HoldNothing && e.Action == messaging.Slow && e.Wait > shortWait {
		what, by = messaging.HoldConnection, messaging.EndedByTime // Retry-After
	}
	h, ok := holdOf(what, o)
	if !ok {
		return Hold{}, false
	}
	h.Reason, h.Detail, h.Source, h.Since = e.Reason(), e.Error(), HoldByRefusal, posted
	h.setEnd(by, now, e.Wait)
	if h.overPlatform(o); o.Platform && messaging.Tried(h.Reason) {
		h.Manual, h.Until = false, now.Add(triedFirst)
	}
	return h, true
}

// overPlatform notes that the platform itself has no event that ends the hold of a connection.
func (h *Hold) overPlatform(o Origin) {
	if o.Platform && h.Scope == HoldConnection && h.Until.IsZero() {
		h.Manual = true
	}
}

// FailureHold returns the hold that a failed status begins; false: it begins none. o is the origin
// of the message. accepted is when the service accepted the message (zero: not known), and at is
// the time of the event. Messages that were accepted before a lift may fail after it; such a
// failure begins no hold.
func FailureHold(code int, o Origin, accepted, at time.Time) (Hold, bool) {
	f := messaging.Failed(code)
	h, ok := holdOf(f.Hold, o)
	if !ok {
		return Hold{}, false
	}
	h.Reason, h.Detail, h.Source, h.Since = strconv.Itoa(code), f.Sentence, HoldByStatus, at
	if !accepted.IsZero() && accepted.Before(at) {
		h.Since = accepted
	}
	h.setEnd(f.EndedBy, at, f.Wait)
	h.overPlatform(o)
	return h, true
}

// setEnd sets how the hold ends. A Retry-After does not end a hold that only an event or an
// operator ends: a company is still suspended when the time that its answers name is over.
func (h *Hold) setEnd(by messaging.EndedBy, from time.Time, wait time.Duration) {
	h.Manual = by == messaging.EndedByOperator
	if by == messaging.EndedByTime {
		h.Until = from.Add(wait)
	}
}

// holdOf returns a hold of the scope on the origin. If the id of the scope is not known, the hold
// stops the connection alone. Each other connection is then held after a refusal of its own.
func holdOf(what messaging.Hold, o Origin) (Hold, bool) {
	scope, ok := holdScopes[what]
	if !ok {
		return Hold{}, false
	}
	h := Hold{Scope: scope}
	switch scope {
	case HoldKey:
		h.ID = o.Key
	case HoldCompany:
		h.ID = o.Company
	case HoldAccount:
		h.ID = o.Account
	case HoldTemplate:
		h.ID = TemplateID(o.Account, o.Template, o.Language)
		return h, o.Template != ""
	}
	if h.ID == "" {
		h.Scope, h.ID = HoldConnection, o.Connection
	}
	return h, h.ID != ""
}

// Hold is a durable fact: nothing of a scope may be sent until the hold ends. A time, an event, the
// test of its breaker or an operator ends it (docs/protocol.md#holds). Scope, ID and Reason
// identify it.
type Hold struct {
	Scope HoldScope
	ID    string
	// Reason is from a closed list: a code that messaging.Sentence explains, the name of a template
	// event in upper case, MediaChanged, TemplateEdited, or the word operator or breaker.
	Reason string
	Detail string // a sentence for people
	Source HoldSource
	Who    string // the operator who began the hold, as in the log of actions; "": not known
	// Since is when the event happened, the request was posted, or the message was accepted.
	Since time.Time
	// Latest is when the reason was last reported, by the same clock as Since. Renew sets it.
	Latest time.Time
	// Until is when the hold ends by itself; zero: it does not. Renew sets it for a breaker.
	Until time.Time
	// Manual means that no event ends the hold, only an operator.
	Manual bool
	// Count is 1 for a new hold. It grows by 1 each time that the hold comes back soon after it ended
	// by itself (Renew). The rest of a breaker doubles with it.
	Count     int
	Lifted    time.Time  // zero: not lifted
	LiftedBy  HoldSource // of a lifted hold
	LiftedWho string     // of a lifted hold, as Who
}

// Subject is the scope and the id, as notifications and the log of actions have them.
func (h Hold) Subject() string { return string(h.Scope) + " " + h.ID }

// InForce reports whether the hold stops anything at now.
func (h Hold) InForce(now time.Time) bool {
	return h.Lifted.IsZero() && (h.Until.IsZero() || h.Until.After(now))
}

// EndsBefore reports whether the hold ends by itself, and earlier than other.
func (h Hold) EndsBefore(other Hold) bool {
	return !h.Until.IsZero() && (other.Until.IsZero() || h.Until.Before(other.Until))
}

// Probing reports whether the hold is a half-open breaker, or one that is tried: its rest is over,
// and no answer has closed it yet. A breaker's connection may have a few requests under way; what
// the other stops, one.
func (h Hold) Probing(now time.Time) bool {
	return (h.Source == HoldByBreaker || h.Tried()) && h.Lifted.IsZero() && !h.Until.IsZero() && !h.Until.After(now)
}

// Tried reports whether the hold is one that a refusal of the Cloud API began, whose cause a person
// removes, and that is then tried with one queued row. One that a failed status began is not: the
// row would be accepted and lost.
func (h Hold) Tried() bool {
	return h.Source == HoldByRefusal && !h.Manual && !h.Until.IsZero() && messaging.Tried(h.Reason)
}

// Stops reports whether the hold, while it is in force, stops messages of this origin.
func (h Hold) Stops(o Origin) bool {
	if h.ID == HoldAny {
		return true
	}
	switch h.Scope {
	case HoldKey:
		return o.Key != "" && h.ID == o.Key
	case HoldCompany:
		return o.Unasked || o.Company != "" && h.ID == o.Company
	case HoldAccount:
		return o.Unasked || o.Account != "" && h.ID == o.Account
	case HoldTemplate:
		every := TemplateID("", o.Template, o.Language)
		all := !o.Platform || h.Source != HoldByEvent // only events of the service name no account
		return o.Template != "" && (h.ID == TemplateID(o.Account, o.Template, o.Language) || h.ID == every && all ||
			o.Unasked && strings.HasSuffix(h.ID, every))
	case HoldPortfolio:
		return o.Unasked || o.Portfolio != "" && h.ID == o.Portfolio
	case HoldConnection:
		return o.Connection != "" && h.ID == o.Connection
	case HoldRun:
		return o.Run != "" && h.ID == o.Run
	}
	return false
}

// Origin is all that a hold can name of a message: its sender, its template and its run. An empty
// field is not known; no hold of that scope stops the message, except one of HoldAny.
type Origin struct {
	Key, Company, Account, Portfolio, Connection string
	Template, Language                           string
	Run                                          string // Run.ID
	// Platform means a connection of the Cloud API: a template hold of every account, which an event
	// of the service began, does not stop it.
	Platform bool
	// Unasked means that the company, the account and the portfolio are not known yet, because the
	// service was not reached. Until then every hold of these scopes may be about the message.
	Unasked bool
}

// HeldBy returns the hold of holds that stops the origin longest at now; false: none does.
func HeldBy(holds []Hold, o Origin, now time.Time) (longest Hold, held bool) {
	for _, h := range holds {
		if !h.InForce(now) || !h.Stops(o) {
			continue
		}
		if !held || longest.EndsBefore(h) {
			longest, held = h, true
		}
	}
	return longest, held
}

// TemplateID is the Hold.ID of a template of one account: ACCOUNT/NAME/LANGUAGE. A hold with the
// account "" stops the template of every account; one that an event began, of every account at the
// service.
func TemplateID(account, name, language string) string {
	return fmt.Sprintf("%s/%s/%s", account, name, language)
}

// holdRepeats is how soon after its end a hold must come back to count as the same hold.
const holdRepeats = 10 * time.Minute

// The rest of a breaker: 5 s, doubled each time that the breaker trips again, at most 5 minutes.
const (
	breakerRest = 5 * time.Second
	breakerMost = 5 * time.Minute
)

// The rest of a hold that is tried: 1 minute, doubled each time that the row is refused again, at
// most 1 hour.
const (
	triedFirst = time.Minute
	triedMost  = time.Hour
)

// Renew merges the report next, which came at now, with the stored hold h, and returns the hold to
// store; a zero h means that none is stored. It reports false if next has no effect: its scope and
// id were lifted after it, or its time is already over. Events that come late or twice therefore
// stop nothing.
func (h Hold) Renew(next Hold, lifts LastLifts, now time.Time) (Hold, bool) {
	if lifts.With(h.LiftedBy, h.Lifted).covers(next) {
		return h, false
	}
	breaker, tried := next.Source == HoldByBreaker, next.Tried()
	if !breaker && !next.Until.IsZero() && !next.Until.After(now) {
		return h, false
	}
	next.Lifted, next.LiftedBy, next.LiftedWho, next.Count, next.Latest = time.Time{}, "", "", 1, next.Since
	known := h.Scope != "" && h.Lifted.IsZero()
	switch {
	case known && h.InForce(now):
		next.Since, next.Latest, next.Count, next.Manual = h.Since, reception.Later(h.Latest, next.Since), h.Count, h.Manual || next.Manual
		switch {
		case next.Source == HoldByOperator: // the operator's last word counts
		case breaker, tried && h.Tried(), h.Until.IsZero(), !next.Until.IsZero() && next.Until.Before(h.Until):
			next.Until = h.Until
		}
		return next, true
	case known && now.Sub(h.Until) < holdRepeats:
		next.Since, next.Count = h.Since, h.Count+1
	}
	if breaker {
		next.Until = now.Add(min(breakerRest<<min(next.Count-1, 10), breakerMost))
	}
	if tried {
		next.Until = now.Add(min(triedFirst<<min(next.Count-1, 10), triedMost))
	}
	return next, true
}

// The reasons of the holds that an edit of a template begins
// (docs/states.md#what-a-template-event-does).
const (
	TemplateInReview = "PENDING"         // of the template, until an event approves the new text
	TemplateEdited   = "template_edited" // of a run with the values of the old text
)

// EditedHold returns the hold of a run whose template was edited at a time after the launch that
// its values are of. Only an operator ends it, because they may not fit the new text.
func EditedHold(run Run, at time.Time) Hold {
	return Hold{Scope: HoldRun, ID: run.ID(), Reason: TemplateEdited, Source: HoldByEvent, Since: at, Manual: true,
		Detail: "its template was edited after the launch, and the values of this run may not fit the new text: see `campaignd preview`"}
}

// HoldLedger keeps the holds. All replicas see the same ones.
type HoldLedger interface {
	// AddHolds stores holds in one transaction, each merged with the stored one as Hold.Renew says. It
	// returns the holds that stop something now and did not before.
	AddHolds(ctx context.Context, hs []Hold) (began []Hold, err error)
	// LiftHolds ends holds in one transaction, and returns those that it ended (Lift.Ends). It also
	// keeps the time of each lift that names no reason, so that an older report has no effect later.
	LiftHolds(ctx context.Context, ls []Lift) (ended []Hold, err error)
	// Holds returns the holds in force and the breakers that probe, by scope and id. With ended it
	// also returns the holds that have ended or were lifted.
	Holds(ctx context.Context, ended bool) ([]Hold, error)
}
