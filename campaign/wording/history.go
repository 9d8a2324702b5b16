package wording

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// Happening is one thing that happened to a run, in a sentence without a capital and a full stop.
type Happening struct {
	At       time.Time
	Sentence string
}

// Story tells the history of a run to people, the oldest first. It begins with the launch.
func Story(h campaign.History, r campaign.Run) []Happening {
	launched := "launched"
	if who := LaunchedBy(r); who != "" {
		launched += " by " + who
	}
	all := []Happening{{r.CreatedAt, launched}}
	before := past{holds: map[holdName]time.Time{}}
	for _, e := range h.Entries {
		if s := before.tell(e); s != "" {
			all = append(all, Happening{e.At, s})
		}
	}
	return all
}

// LaunchedBy names who or what launched a run; "": it is not known.
func LaunchedBy(r campaign.Run) string {
	switch {
	case r.LaunchedBy != "":
		return r.LaunchedBy
	case strings.HasPrefix(r.Launch, campaign.FiringKey):
		return campaign.BySchedule
	case strings.HasPrefix(r.Launch, campaign.DropKey):
		return "a dropped list"
	}
	return ""
}

// past is what the entries told so far say of a run.
type past struct {
	state  campaign.State
	wanted campaign.Wanted // what an operator asked for last
	moves  bool            // the next change of the state is what an operator asked for
	began  bool            // it has been running
	limits campaign.LimitChange
	holds  map[holdName]time.Time // the end of each hold that was told and not lifted; zero: it has none
}

// holdName is what identifies a hold.
type holdName struct {
	scope      campaign.HoldScope
	id, reason string
}

// tell says what happened; "": another entry says it.
func (p *past) tell(e campaign.HistoryEntry) string {
	switch e.Kind {
	case campaign.HistoryState:
		defer func() {
			p.state, p.began = campaign.State(e.Value), p.began || campaign.State(e.Value) == campaign.Running
			p.moves = false
		}()
		return p.moved(campaign.State(e.Value), e)
	case campaign.HistoryWanted:
		p.wanted = campaign.Wanted(e.Value)
		p.moves = p.wanted != campaign.WantPause // senders make a pause, later
		return map[campaign.Wanted]string{campaign.WantPause: "paused", campaign.WantRun: "resumed",
			campaign.WantCancel: "cancelled"}[p.wanted] + by(e.Who)
	case campaign.HistoryLimits:
		var now campaign.LimitChange
		if json.Unmarshal([]byte(e.Value), &now) != nil {
			return "its limits were changed" + by(e.Who)
		}
		defer func() { p.limits = now }()
		return "its limits were changed" + by(e.Who) + limitsChanged(now, p.limits)
	case campaign.HistoryCanary:
		if e.Who != "" {
			return "the other rows were released" + by(e.Who)
		}
		if e.Detail == "" {
			return "the other rows were released after the canary"
		}
		return "the other rows were released after the canary: " + e.Detail
	case campaign.HistoryRepeats:
		return "people got its template before: " + e.Detail
	case campaign.HistoryHoldEnded, campaign.HistoryHold:
		return p.held(e)
	}
	return ""
}

// held says that a hold began, lasts longer, was changed, or was lifted: by whom, until when and
// why.
func (p *past) held(e campaign.HistoryEntry) string {
	h, _ := e.Hold()
	name := holdName{h.Scope, h.ID, h.Reason}
	if e.Kind == campaign.HistoryHoldEnded {
		delete(p.holds, name)
		switch {
		case h.LiftedBy == campaign.HoldByOperator:
			return "the hold of " + holdSubject(h) + " was lifted" + by(h.LiftedWho)
		case h.LiftedBy == campaign.HoldByEvent:
			return "the hold of " + holdSubject(h) + " ended by an event of the service"
		case h.LiftedBy == campaign.HoldByBreaker:
			return "the hold of " + holdSubject(h) + " ended by a proven answer"
		}
		return "the hold of " + holdSubject(h) + " ended"
	}
	until, known := p.holds[name]
	p.holds[name] = h.Until
	s := holdSubject(h) + " was held"
	switch {
	case known && (until.IsZero() || until.After(e.At)):
		s = "the hold of " + holdSubject(h) + " was renewed"
	case known:
		s += " again"
	}
	why := holdReason(h)
	switch h.Source {
	case campaign.HoldByOperator:
		s, why = s+by(h.Who), h.Detail
	case "": // of the time before the history had more of a hold
		why = h.Reason
		if known := messaging.Sentence(why); !strings.HasPrefix(known, "the service refused with a code") {
			why = known + " (" + why + ")"
		}
	}
	if !h.Until.IsZero() {
		s += " until " + sentence.Instant(h.Until)
	}
	if why != "" {
		s += ": " + why
	}
	return s
}

// by names the operator. An entry of the time before the history had names has none.
func by(who string) string { return " by " + cmp.Or(who, "an operator") }

// moved says that the run came into a state; "": the entry of what an operator asked for says it.
// The detail of the entry has the reason of a pause, and of a failure.
func (p *past) moved(to campaign.State, e campaign.HistoryEntry) string {
	reason, rest, _ := strings.Cut(e.Detail, ": ")
	because := func(s string) string {
		if rest != "" {
			s += ": " + rest
		}
		return s
	}
	switch to {
	case campaign.WaitingApproval:
		return "it waited for its approval"
	case campaign.Ready:
		switch {
		case p.moves:
			return ""
		case p.state == campaign.Paused:
			return "resumed" + by(e.Who)
		case p.state == campaign.WaitingApproval:
			return "approved" + by(e.Who)
		}
		return ""
	case campaign.Running:
		if p.began || p.wanted == campaign.WantCancel {
			return ""
		}
		return "sending began"
	case campaign.Paused:
		if campaign.PauseReason(reason) == campaign.PausedByOperator && p.wanted == campaign.WantPause {
			return ""
		}
		return because(map[campaign.PauseReason]string{
			campaign.PausedByOperator: "paused by an operator",
			campaign.PausedByCanary:   "paused after its canary",
			campaign.PausedByBreaker:  "paused by its breaker",
			campaign.PausedByLedger:   "paused, because the ledger went back in time"}[campaign.PauseReason(reason)])
	case campaign.Cancelled:
		return "ended as cancelled"
	}
	return because(strings.ReplaceAll(string(to), "_", " "))
}

// limitsChanged says which limits differ from those before, after a colon.
func limitsChanged(c, was campaign.LimitChange) string {
	var all []string
	if c.Class != nil && (was.Class == nil || *was.Class != *c.Class) {
		all = append(all, "class "+string(*c.Class))
	}
	if c.Weight != nil && (was.Weight == nil || *was.Weight != *c.Weight) {
		all = append(all, fmt.Sprintf("weight %d", *c.Weight))
	}
	if c.Rate != nil && (was.Rate == nil || *was.Rate != *c.Rate) {
		s := fmt.Sprintf("%.6g messages per second", *c.Rate)
		if *c.Rate == 0 {
			s = "no rate of its own"
		}
		all = append(all, s)
	}
	if c.Deadline != nil && (was.Deadline == nil || *was.Deadline != *c.Deadline) {
		s := fmt.Sprintf("a deadline %s after the launch", c.Deadline)
		if *c.Deadline == 0 {
			s = "no deadline"
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}

// Remedy says how a pause of the run named id ends.
func Remedy(id string) string { return "`campaignd resume " + id + "` resumes it" }
