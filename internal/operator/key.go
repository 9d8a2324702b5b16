package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// mostName is the most bytes of the name of a key.
const mostName = 100

// CreateKey makes a key of the operator's API. The answer alone has its secret. A second call with
// the same idempotency key, if it is not "", is ErrRepeated.
func (d *Session) CreateKey(ctx context.Context, name, scope, company, idempotency string) (resource.NewKey, error) {
	k := campaign.OperatorKey{Name: strings.TrimSpace(name), Scope: campaign.KeyScope(scope), Company: company,
		CreatedAt: time.Now().UTC().Truncate(time.Millisecond)}
	switch {
	case k.Name == "" || len(k.Name) > mostName:
		return resource.NewKey{}, invalid("the name of a key has 1 to %d bytes: it says who has the key", mostName)
	case !slices.Contains(campaign.KeyScopes, k.Scope):
		return resource.NewKey{}, invalid("scope %q: want read, operate or admin", scope)
	case k.Scope == campaign.KeyAdmin && company != "":
		return resource.NewKey{}, invalid("a key of one company cannot have the scope admin, which covers the keys of all")
	}
	var secret string
	secret, k.ID = newSecret(d.By, idempotency)
	k.Hash = hashOf(secret)
	if err := d.notMade(ctx, k); err != nil {
		return resource.NewKey{}, err
	}
	if err := d.note(ctx, "keys create", k.ID, keyDetail(k)); err != nil {
		return resource.NewKey{}, err
	}
	if err := d.Ledger.AddKey(ctx, k); err != nil {
		return resource.NewKey{}, err
	}
	if err := d.notMade(ctx, k); err != nil { // a concurrent request has made the key
		return resource.NewKey{}, err
	}
	return resource.NewKey{Key: keyFacts(k), Secret: secret}, nil
}

// notMade is ErrRepeated if there is another key with the id of k.
func (d *Session) notMade(ctx context.Context, k campaign.OperatorKey) error {
	switch other, err := d.Ledger.Key(ctx, k.ID); {
	case errors.Is(err, campaign.ErrNoKey):
		return nil
	case err == nil && other.Hash != k.Hash:
		return fmt.Errorf("%w: this request made the key %s, whose secret cannot be read again", ErrRepeated, k.ID)
	default:
		return err
	}
}

func keyDetail(k campaign.OperatorKey) string {
	s := fmt.Sprintf("%s, scope %s", k.Name, k.Scope)
	if k.Company != "" {
		s += ", company " + k.Company
	}
	return s
}

// Keys lists the keys, the newest first, also those that were revoked.
func (d *Session) Keys(ctx context.Context) ([]resource.Key, error) {
	all, err := d.Ledger.Keys(ctx)
	keys := make([]resource.Key, len(all))
	for i, k := range all {
		keys[i] = keyFacts(k)
	}
	return keys, err
}

// RevokeKey ends a key for ever. The error is campaign.ErrNoKey if there is none.
func (d *Session) RevokeKey(ctx context.Context, id string) (resource.Key, error) {
	k, err := d.Ledger.Key(ctx, id)
	if err != nil {
		return resource.Key{}, err
	}
	if err := d.note(ctx, "keys revoke", id, k.Name); err != nil {
		return resource.Key{}, err
	}
	k, err = d.Ledger.RevokeKey(ctx, id, time.Now().UTC())
	return keyFacts(k), err
}

func keyFacts(k campaign.OperatorKey) resource.Key {
	out := resource.Key{ID: k.ID, Name: k.Name, Scope: string(k.Scope), Company: k.Company, CreatedAt: k.CreatedAt.UTC()}
	if revoked := k.RevokedAt.UTC(); !k.RevokedAt.IsZero() {
		out.RevokedAt = &revoked
	}
	return out
}

// Actions lists what operators asked for, the newest first.
func (d *Session) Actions(ctx context.Context, f campaign.ActionFilter) ([]resource.Action, error) {
	all, err := d.Ledger.Actions(ctx, f)
	actions := make([]resource.Action, len(all))
	for i, a := range all {
		actions[i] = resource.Action{ID: a.ID, At: a.At.UTC(), By: a.By, What: a.What, On: a.On, Detail: a.Detail}
	}
	return actions, err
}
