package ledger

import (
	"fmt"

	"campaignd/campaign"
)

// MaxAction is the most bytes kept of the detail of an action.
const MaxAction = 500

// ScanKey reads id, name, hash, scope, company, created_at and revoked_at.
func ScanKey(scan func(...any) error) (k campaign.OperatorKey, err error) {
	var created, revoked int64
	err = scan(&k.ID, &k.Name, &k.Hash, &k.Scope, &k.Company, &created, &revoked)
	k.CreatedAt, k.RevokedAt = TimeOf(created), TimeOf(revoked)
	return k, err
}

// NoKey is campaign.ErrNoKey with the id that was asked for.
func NoKey(id string) error { return fmt.Errorf("%w: %q", campaign.ErrNoKey, id) }

// ScanAction reads id, at, who, what, target and detail.
func ScanAction(scan func(...any) error) (a campaign.Action, err error) {
	var at int64
	err = scan(&a.ID, &at, &a.By, &a.What, &a.On, &a.Detail)
	a.At = TimeOf(at)
	return a, err
}

// ActionClause is the end of a SELECT of actions that reads what f asks for, with its arguments.
func ActionClause(f campaign.ActionFilter) (sql string, args []any) {
	if !f.Before.IsZero() {
		sql = " WHERE (at, id) < ($1, $2)"
		args = append(args, Millis(f.Before), f.BeforeID)
	}
	if f.On != "" {
		glue := " WHERE"
		if len(args) > 0 {
			glue = " AND"
		}
		args = append(args, f.On)
		sql += fmt.Sprintf("%s target = $%d", glue, len(args))
	}
	sql += " ORDER BY at DESC, id DESC"
	return limited(sql, args, f.Limit)
}

// ScanSession reads hash, operator_key, who, once, created_at and seen_at.
func ScanSession(scan func(...any) error) (s campaign.BrowserSession, err error) {
	var once, created, seen int64
	err = scan(&s.Hash, &s.Key, &s.By, &once, &created, &seen)
	s.Once, s.CreatedAt, s.SeenAt = once != 0, TimeOf(created), TimeOf(seen)
	return s, err
}

// ScanDraft reads id, owner, campaign, source, list_name, list, run and created_at.
func ScanDraft(scan func(...any) error) (d campaign.Draft, err error) {
	var created int64
	err = scan(&d.ID, &d.Owner, &d.Campaign, &d.Source, &d.ListName, &d.List, &d.Run, &created)
	d.CreatedAt = TimeOf(created)
	return d, err
}
