package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/cloud"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/webhooks"
)

// platforms returns the apps whose events the platform posts itself. Accounts with one secret are
// of one app, whose secret vouches for these accounts and no others.
func (d *Daemon) platforms() ([]webhooks.Platform, error) {
	if !d.cfg.Cloud.Configured() {
		return nil, nil
	}
	_, secrets, err := config.CloudOptions(d.cfg)
	if err != nil {
		return nil, err
	}
	return d.platformsOf(secrets)
}

// platformsOf is platforms with these secrets of the accounts.
func (d *Daemon) platformsOf(secrets map[string]config.CloudSecrets) ([]webhooks.Platform, error) {
	accounts := map[string][]string{} // by app secret
	for _, id := range slices.Sorted(maps.Keys(secrets)) {
		app := secrets[id].App.Reveal()
		accounts[app] = append(accounts[app], id)
	}
	var all []webhooks.Platform
	for _, app := range slices.Sorted(maps.Keys(accounts)) {
		own := accounts[app]
		verifier, err := messaging.NewVerifier(cloud.SignatureForm, messaging.NewSecret(app))
		if err != nil {
			return nil, fmt.Errorf("cloud: %w", err)
		}
		p := webhooks.Platform{Verifier: verifier, Decode: func(ctx context.Context, body []byte) (cloud.Told, error) {
			return cloud.DecodeEvents(body, d.cfg.OptOut(), func(id string) bool { return slices.Contains(own, id) },
				func(id, digits string) (string, cloud.Standing) { return d.client.Cloud.Standing(ctx, own, id, digits) })
		}}
		for _, id := range own {
			p.VerifyTokens = append(p.VerifyTokens, secrets[id].Verify)
		}
		all = append(all, p)
	}
	return all, nil
}

// shareListings makes the client of the Cloud API share its listings with all processes of the
// ledger, and takes over the last ones: events and rows of these numbers are then known as the
// platform's.
func (d *Daemon) shareListings(ctx context.Context) error {
	if d.client.Cloud == nil {
		return nil
	}
	d.client.Cloud.Share(shelf{d.ledger, d.job})
	d.directory.PlatformOf(d.client.Cloud.Owned)
	return d.client.Cloud.Recall(ctx)
}

// ShareListings makes the client of the Cloud API of a command use the listings that a ledger
// keeps. With drops it only drops them, when a template changes, and asks the platform by itself.
func ShareListings(cfg *config.Config, c *connector.Set, l campaign.Ledger, drops bool) {
	if drops {
		c.Cloud.Share(dropper{ledger: l})
		return
	}
	owner := ownerName()
	c.Cloud.Share(shelf{l, func(name string) campaign.Job {
		return campaign.Job{Ledger: l, Name: name, Owner: owner, Lease: time.Duration(cfg.Sending.Lease)}
	}})
}

// dropper shares nothing, and drops the listings of the ledger.
type dropper struct {
	cloud.Unshared
	ledger campaign.ListingLedger
}

// DropListings implements cloud.Shelf.
func (s dropper) DropListings(ctx context.Context, prefix string) error {
	return s.ledger.DropListings(ctx, prefix)
}

// shelf keeps the listings of the Cloud API in the ledger. One replica at a time asks for an
// account, and none for a while after a failure.
type shelf struct {
	campaign.ListingLedger
	job func(name string) campaign.Job
}

var _ cloud.Shelf = shelf{}

// Ask implements cloud.Shelf.
func (s shelf) Ask(ctx context.Context, turn string, do func(context.Context) error) error {
	job := s.job("cloud " + turn)
	job.Rest = cloud.RestAfter
	err := job.Do(ctx, do)
	if errors.Is(err, campaign.ErrTaken) {
		return cloud.ErrAsked
	}
	return err
}

// renewCloud uses the access tokens, the app secrets and the verify tokens that the files of the
// Cloud API have now. Accounts that came later count at the next start.
func (d *Daemon) renewCloud(c *config.Config) {
	o, secrets, err := config.CloudOptions(c)
	if err != nil {
		d.log.Warn("the secrets of the Cloud API cannot be read again; the last ones stay", "err", err)
		return
	}
	if d.intake != nil {
		d.renewPlatforms(secrets)
	}
	if d.client == nil || d.client.Cloud == nil {
		return
	}
	for _, a := range o.Accounts {
		if changed, err := d.client.Cloud.SetSecrets(a.ID, a.Token, a.AppSecret); err != nil {
			d.log.Warn("the new secrets of an account are not used", "account", a.ID, "err", err)
		} else if changed {
			d.log.Info("the token or the app secret of an account was read again", "account", a.ID)
			d.liftTokenHolds("another token or app secret of account "+a.ID, func(account string) bool { return account == a.ID })
		}
	}
}

// liftTokenHolds ends the holds of these accounts and of their numbers that another token or app
// secret may mend: the platform has no event that would. It is called when one has changed, and at
// the start, because it may have changed while no process ran. If it is no better, the next refusal
// begins the hold again, and its row stays queued. who is named in the history.
func (d *Daemon) liftTokenHolds(who string, renewed func(account string) bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	holds, err := d.ledger.Holds(ctx, false)
	var lifts []campaign.Lift
	for _, h := range holds {
		if h.Source == campaign.HoldByOperator || !slices.Contains(messaging.TokenCodes, h.Reason) {
			continue
		}
		account := d.client.Cloud.Owner(h.ID)
		if h.Scope == campaign.HoldAccount { // of a connection whose account was not known yet, its own id
			account = cmp.Or(account, h.ID)
		} else if h.Scope != campaign.HoldConnection {
			continue
		}
		if account != "" && renewed(account) {
			lifts = append(lifts, campaign.Lift{Scope: h.Scope, ID: h.ID, Reason: h.Reason, At: time.Now(),
				By: campaign.HoldByOperator, Who: who})
		}
	}
	var ended []campaign.Hold
	if err == nil && len(lifts) > 0 {
		ended, err = d.ledger.LiftHolds(ctx, lifts)
	}
	for _, h := range ended {
		d.log.Info("a hold was lifted because the secrets were read again", string(h.Scope), h.ID, "code", h.Reason)
	}
	if err != nil {
		d.log.Warn("the holds that a new token or app secret may end stay: `campaignd holds lift` ends them", "err", err)
	}
}

// renewPlatforms makes the intake verify events of the platform by the secrets of now. Only the
// accounts of the start have events.
func (d *Daemon) renewPlatforms(secrets map[string]config.CloudSecrets) {
	now := map[string]config.CloudSecrets{}
	for _, a := range d.cfg.Cloud.Accounts {
		s, ok := secrets[a.ID]
		if !ok {
			d.log.Warn("an account is no longer in the configuration; its last secrets stay until the next start", "account", a.ID)
			return
		}
		now[a.ID] = s
	}
	same := func(a, b config.CloudSecrets) bool {
		return a.App.Reveal() == b.App.Reveal() && a.Verify.Reveal() == b.Verify.Reveal()
	}
	if maps.EqualFunc(now, d.appSecrets, same) {
		return
	}
	all, err := d.platformsOf(now)
	if err != nil {
		d.log.Warn("the new secrets of the apps are not used", "err", err)
		return
	}
	d.intake.SetPlatforms(all)
	if d.appSecrets != nil {
		d.log.Info("the secrets of the apps of the Cloud API were read again", "accounts", len(now))
	}
	d.appSecrets = now
}
