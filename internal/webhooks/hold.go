package webhooks

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// accounts remembers which connections belong to which business account of the platform. An event
// in the platform's envelope names the account, and many name the number too. A template or account
// event names the account alone.
type accounts struct {
	mu sync.RWMutex
	of map[string]map[string]bool // account of the platform -> connections
}

// maxAccounts bounds the accounts in memory. An API key reaches far fewer.
const maxAccounts = 10_000

func (a *accounts) learn(account, connection string) {
	if account == "" || connection == "" {
		return
	}
	a.mu.RLock()
	known := a.of[account][connection]
	a.mu.RUnlock()
	if known {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]map[string]bool{}
	}
	if a.of[account] == nil {
		if len(a.of) >= maxAccounts {
			return
		}
		a.of[account] = map[string]bool{}
	}
	a.of[account][connection] = true
}

func (a *accounts) connections(account string) []string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.Sorted(maps.Keys(a.of[account]))
}

// accountsOf returns the accounts that an event is about, by the ids that holds use: the account of
// its connection, and the accounts of the connections that belong to the platform's account.
// Without any it is the platform's account itself. It is empty if the event names neither.
func (i *Intake) accountsOf(e *messaging.Event) []string {
	connections := i.accounts.connections(e.Account)
	if e.Connection != "" {
		connections = append(connections, e.Connection)
	}
	var ids []string
	for _, c := range connections {
		if id := i.o.Origin(c).Account; id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 && e.Account != "" {
		ids = append(ids, e.Account)
	}
	return ids
}

// liftedBy returns the accounts whose holds an event lifts: those that it is about, and those that
// may be the same business account (Options.Peers). A hold that ends too early begins again with
// the next refusal; a hold that no event ends needs an operator. A change of a template counts for
// the same accounts.
func (i *Intake) liftedBy(e *messaging.Event, about []string) []string {
	ids := slices.Clone(about)
	for _, id := range i.o.Peers(e.Connection) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// readTemplate logs every template event for the operator. The ledger gets only those that begin or
// end a hold, and decides from when they count.
func (i *Intake) readTemplate(m *meaning, e *messaging.Event) {
	r := e.Review
	effect := reviewWords[r.Event].effect
	if strings.ContainsRune(r.Name+r.Language, 0) { // PostgreSQL stores no NUL, so no run uses such a template
		effect = eventNoted
	}
	i.counters.templates[effect].Add(1)
	accounts := i.accountsOf(e)
	if len(accounts) == 0 {
		accounts = []string{""} // the template of every account
	}
	if edited(r) || madeMarketing(r) {
		m.changes = append(m.changes, change{*r, i.liftedBy(e, accounts), e.At})
	}
	level, line := slog.LevelWarn, ""
	switch effect {
	case eventNoted:
		line = "template event that holds nothing"
	case eventHolds, eventHoldsForGood:
		line = "template cannot be sent; it is held until it is approved, unless that was later than this event"
		if effect == eventHoldsForGood {
			line = "template cannot be sent; it is held until an operator lifts it"
		}
		for _, account := range accounts {
			m.holds = append(m.holds, reviewHold(account, r, e.At))
		}
	case eventLifts:
		level, line = slog.LevelInfo, "template can be sent"
		if e.At.IsZero() {
			level, line = slog.LevelWarn, "template event without a time: it ends no hold"
		}
		lifted := i.liftedBy(e, accounts)
		if lifted[0] != "" && !i.o.Foreign("", e.Account, "") { // also the holds that began while the account was not known
			lifted = append(lifted, "")
		}
		for _, account := range lifted {
			m.lift(campaign.HoldTemplate, campaign.TemplateID(account, r.Name, r.Language), e.At)
		}
	}
	i.o.Log.Log(context.Background(), level, line,
		"template", sentence.Clip(r.Name, maxTemplateName), "language", sentence.Clip(r.Language, maxTemplateName),
		"event", r.Event, "reason", r.Reason, "at", e.At)
}

// maxTemplateName is the most characters that the platform allows in the name of a template, all of
// them ASCII.
const maxTemplateName = 512

// readChange reads an event about a number, an account or a company: an error of a number, which
// may begin a hold, or its new state.
func (i *Intake) readChange(m *meaning, e *messaging.Event) {
	if i.o.OnChange != nil {
		i.o.OnChange()
	}
	if e.Code != 0 {
		at := e.At
		if at.IsZero() {
			at = time.Now() // of a hold that ends by itself
		}
		if h, ok := campaign.FailureHold(e.Code, i.o.Origin(e.Connection), time.Time{}, at); ok {
			h.Source, h.Since = campaign.HoldByEvent, e.At
			m.holds = append(m.holds, h)
		}
	}
	if e.Change != nil {
		i.readState(m, e)
	}
}

// readState reads the new state of a number, an account or a company, and logs it. The event begins
// a hold, ends the holds of its scope, or does neither.
func (i *Intake) readState(m *meaning, e *messaging.Event) {
	scope, ids := campaign.HoldConnection, []string{e.Connection}
	if e.Kind == messaging.KindAccount {
		if scope, ids = campaign.HoldAccount, i.accountsOf(e); e.Change.Company != "" {
			scope, ids = campaign.HoldCompany, []string{e.Change.Company}
		}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" || strings.ContainsRune(id, 0) })
	effect := changeWords[e.Change.Word].effect
	level, line := slog.LevelInfo, "event that holds nothing"
	switch {
	case effect == eventNoted:
	case len(ids) == 0:
		level, line = slog.LevelWarn, "event that names nothing known: it holds nothing"
	case effect != eventLifts:
		level, line = slog.LevelWarn, "event that holds, unless a later one lifted it"
		for _, id := range ids {
			m.holds = append(m.holds, changeHold(scope, id, e.Change, e.At))
		}
	case e.At.IsZero():
		level, line = slog.LevelWarn, "event without a time: it ends no hold"
	default:
		line = "event that ends holds"
		if scope == campaign.HoldAccount {
			ids = i.liftedBy(e, ids)
		}
		for _, id := range ids {
			m.lift(scope, id, e.At)
		}
		if scope == campaign.HoldCompany { // a company that is active again has active accounts
			for _, id := range i.accountsOf(e) {
				m.lift(campaign.HoldAccount, id, e.At)
			}
		}
	}
	i.o.Log.Log(context.Background(), level, line, "kind", e.Kind.String(), "event", e.Change.Word, "scope", string(scope), "ids", ids,
		"at", e.At)
}

// lift adds the end of the holds of a scope. An event without a time ends nothing.
func (m *meaning) lift(scope campaign.HoldScope, id string, at time.Time) {
	if !at.IsZero() {
		m.lifts = append(m.lifts, campaign.Lift{Scope: scope, ID: id, At: at, By: campaign.HoldByEvent})
	}
}
