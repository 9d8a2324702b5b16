package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
)

// Holds lists the holds in force; with ended also those that have ended.
func (d *Session) Holds(ctx context.Context, ended bool) ([]wording.HoldState, error) {
	holds, err := d.Ledger.Holds(ctx, ended)
	if err != nil {
		return nil, err
	}
	if d.Company != "" {
		of := d.Origins(ctx, holds)
		holds = slices.DeleteFunc(holds, func(h campaign.Hold) bool { return !d.seesHold(ctx, of, h.Scope, h.ID) })
	}
	return wording.States(holds, time.Now()), nil
}

// seesHold reports whether a scope and id are the company's own.
func (d *Session) seesHold(ctx context.Context, of func(string) campaign.Origin, scope campaign.HoldScope, id string) bool {
	switch {
	case d.Company == "":
		return true
	case scope == campaign.HoldCompany:
		return id == d.Company
	case scope == campaign.HoldConnection:
		return of(id).Company == d.Company
	case scope == campaign.HoldRun && id != campaign.HoldAny:
		_, err := d.find(ctx, id)
		return err == nil
	}
	return false // such a hold may also stop other companies
}

// scopeAndID checks a scope and the id in it. The id of a run may be written as for every command.
func (d *Session) scopeAndID(ctx context.Context, scope campaign.HoldScope, id string) (string, error) {
	switch {
	case !slices.Contains(campaign.HoldScopes, scope):
		return "", invalid("scope %q is unknown; give %s", scope, scopeWords())
	case id == "":
		return "", invalid("the ID is empty")
	case scope == campaign.HoldTemplate && id != campaign.HoldAny && strings.Count(id, "/") < 2:
		return "", invalid("template %q: want ACCOUNT/NAME/LANGUAGE; /NAME/LANGUAGE is the template of every account", id)
	case scope == campaign.HoldRun && id != campaign.HoldAny:
		r, err := d.find(ctx, id)
		if err != nil {
			return "", err
		}
		id = r.ID()
	}
	if d.Company != "" && !d.seesHold(ctx, d.Origins(ctx, nil), scope, id) {
		return "", fmt.Errorf("%w: %s %s is not of the company of this key", ErrForbidden, scope, id)
	}
	return id, nil
}

// mayEnd returns which holds the session may end or change: all but those that operators began who
// have no key of its company.
func (d *Session) mayEnd(ctx context.Context) (func(campaign.Hold) bool, error) {
	if d.Company == "" {
		return func(campaign.Hold) bool { return true }, nil
	}
	keys, err := d.Ledger.Keys(ctx)
	own := map[string]bool{}
	for _, k := range keys {
		own[callerOf(k).By] = k.Company == d.Company
	}
	return func(h campaign.Hold) bool { return h.Source != campaign.HoldByOperator || own[h.Who] }, err
}

// checkOthers refuses to change the holds of a scope and id, of one reason or of all, if one of
// those in force is not the session's to end.
func (d *Session) checkOthers(ctx context.Context, scope campaign.HoldScope, id, reason string) error {
	may, err := d.mayEnd(ctx)
	if err != nil || d.Company == "" {
		return err
	}
	holds, err := d.Ledger.Holds(ctx, false)
	for _, h := range holds {
		if h.Scope == scope && h.ID == id && (reason == "" || h.Reason == reason) && !may(h) {
			return fmt.Errorf("%w: an operator without a key of this company began the hold of %s %s", ErrForbidden, scope, id)
		}
	}
	return err
}

func scopeWords() string {
	var words []string
	for _, s := range campaign.HoldScopes {
		words = append(words, string(s))
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// checkKnown refuses an id that no connection has, because a hold of it would stop nothing. While
// the service does not list its connections every id is accepted.
func (d *Session) checkKnown(ctx context.Context, scope campaign.HoldScope, id string) error {
	of, ok := map[campaign.HoldScope]func(campaign.Origin) string{
		campaign.HoldKey:        func(o campaign.Origin) string { return o.Key },
		campaign.HoldCompany:    func(o campaign.Origin) string { return o.Company },
		campaign.HoldPortfolio:  func(o campaign.Origin) string { return o.Portfolio },
		campaign.HoldAccount:    func(o campaign.Origin) string { return o.Account },
		campaign.HoldTemplate:   func(o campaign.Origin) string { return o.Account },
		campaign.HoldConnection: func(o campaign.Origin) string { return o.Connection },
	}[scope]
	if !ok || id == campaign.HoldAny || d.Known == nil {
		return nil
	}
	word, name := string(scope), id
	if scope == campaign.HoldTemplate {
		word = "account"
		if name, _, _ = strings.Cut(id, "/"); name == "" {
			return nil // of every account
		}
	}
	all, whole := d.Known(ctx)
	var known []string
	for _, o := range all {
		if one := of(o); one == name {
			return nil
		} else if one != "" && (d.Company == "" || o.Company == d.Company) {
			known = append(known, one)
		}
	}
	if !whole {
		return nil
	}
	if scope == campaign.HoldConnection {
		if runs, err := d.runsOver(ctx, name, campaign.RunFilter{Unfinished: true}); err != nil || len(runs) > 0 {
			return err
		}
	}
	remedy := "none is known"
	if slices.Sort(known); len(known) > 0 {
		remedy = sentence.DidYouMean(name, slices.Compact(known))
	}
	return invalid("the service and the configuration have no %s %q, so a hold of it would stop nothing; %s", word, name, remedy)
}

// AddHold holds a scope. Adding it again replaces its end and its reason.
func (d *Session) AddHold(ctx context.Context, q resource.HoldRequest) (wording.HoldState, error) {
	if q.For != nil && *q.For <= 0 {
		return wording.HoldState{}, invalid("for %s: want a time above 0", *q.For)
	}
	id, err := d.scopeAndID(ctx, q.Scope, q.ID)
	if err != nil {
		return wording.HoldState{}, err
	}
	if err := d.checkKnown(ctx, q.Scope, id); err != nil {
		return wording.HoldState{}, err
	}
	if err := d.checkOthers(ctx, q.Scope, id, string(campaign.HoldByOperator)); err != nil {
		return wording.HoldState{}, err
	}
	now := time.Now().UTC()
	h := campaign.Hold{Scope: q.Scope, ID: id, Reason: string(campaign.HoldByOperator), Detail: q.Reason,
		Source: campaign.HoldByOperator, Since: now, Who: d.By}
	if q.For != nil {
		h.Until = now.Add(q.For.Std())
	}
	if err := d.note(ctx, "holds add", string(q.Scope)+" "+id, q.Reason); err != nil {
		return wording.HoldState{}, err
	}
	if _, err := d.Ledger.AddHolds(ctx, []campaign.Hold{h}); err != nil {
		return wording.HoldState{}, err
	}
	return wording.State(h, now), nil
}

// LiftHolds ends holds, and returns those that it ended.
func (d *Session) LiftHolds(ctx context.Context, q resource.LiftRequest) ([]wording.HoldState, error) {
	now := time.Now().UTC()
	var lifts []campaign.Lift
	switch {
	case q.Scope != "" || q.ID != "":
		id, err := d.scopeAndID(ctx, q.Scope, q.ID)
		if err != nil {
			return nil, err
		}
		if err := d.checkOthers(ctx, q.Scope, id, q.Reason); err != nil {
			return nil, err
		}
		lifts = append(lifts, campaign.Lift{Scope: q.Scope, ID: id, Reason: q.Reason, At: now, By: campaign.HoldByOperator, Who: d.By})
	case q.Reason == "":
		return nil, invalid("name a scope and an id, or a reason")
	default:
		holds, err := d.Ledger.Holds(ctx, false)
		if err != nil {
			return nil, err
		}
		may, err := d.mayEnd(ctx)
		if err != nil {
			return nil, err
		}
		of := func(string) campaign.Origin { return campaign.Origin{} }
		if d.Company != "" {
			of = d.Origins(ctx, holds)
		}
		for _, h := range holds {
			if (h.Reason == q.Reason || string(h.Scope) == q.Reason) && d.seesHold(ctx, of, h.Scope, h.ID) && may(h) {
				lifts = append(lifts, campaign.Lift{Scope: h.Scope, ID: h.ID, Reason: h.Reason, At: now, By: campaign.HoldByOperator, Who: d.By})
			}
		}
	}
	if err := d.note(ctx, "holds lift", strings.TrimSpace(string(q.Scope)+" "+q.ID), q.Reason); err != nil {
		return nil, err
	}
	ended, err := d.Ledger.LiftHolds(ctx, lifts)
	if err != nil {
		return nil, err
	}
	return wording.States(ended, now), nil
}
