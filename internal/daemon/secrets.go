package daemon

import (
	"context"
	"slices"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/messaging"
)

// secretsEvery is how often the files of secrets are looked at.
const secretsEvery = time.Second

// watchSecrets takes a new key of the service and new webhook secrets from their files, until ctx
// ends. Other keys of the configuration count at the next start.
func (d *Daemon) watchSecrets(ctx context.Context) {
	if !d.cfg.FromFiles() {
		return // the configuration came from no file
	}
	read, now := d.cfg.Stamp(), *d.cfg
	// The first look also reads files that changed since the start.
	d.renewSecrets(&now)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(secretsEvery):
		}
		if stamp := d.cfg.Stamp(); stamp != read {
			read = stamp
			d.renewSecrets(&now)
		}
	}
}

// renewSecrets reads the configuration again and uses the secrets that differ from the present
// ones. The last good ones stay if it cannot be read, such as between the writing of one file and
// another.
func (d *Daemon) renewSecrets(now *config.Config) {
	c, err := d.cfg.Again()
	if err != nil {
		d.log.Warn("secrets cannot be read again; the last ones stay", "err", err)
		return
	}
	same := func(a, b messaging.Secret) bool { return a.Reveal() == b.Reveal() }
	if d.client != nil && d.client.Service != nil && !same(c.Service.APIKey, now.Service.APIKey) {
		if err := d.client.Service.SetKey(c.Service.APIKey); err != nil {
			d.log.Warn("the new key of the service is not used", "err", err)
		} else {
			d.directory.SetKey(c.Service.APIKey)
			now.Service.APIKey = c.Service.APIKey
			d.log.Info("the key of the service was read again")
		}
	}
	if d.cfg.Cloud.Configured() {
		d.renewCloud(c)
	}
	if d.verifier != nil && !slices.EqualFunc(c.Webhooks.Secrets, now.Webhooks.Secrets, same) {
		if err := d.verifier.Renew(c.Webhooks.Secrets...); err != nil {
			d.log.Warn("the new webhook secrets are not used", "err", err)
		} else {
			now.Webhooks.Secrets = c.Webhooks.Secrets
			d.log.Info("the webhook secrets were read again", "secrets", len(c.Webhooks.Secrets))
		}
	}
	if d.commerce != nil && !slices.EqualFunc(c.Commerce.Webhooks.Secrets, now.Commerce.Webhooks.Secrets, same) {
		d.commerce.Renew(c.Commerce.Webhooks.Secrets)
		now.Commerce.Webhooks.Secrets = c.Commerce.Webhooks.Secrets
		d.log.Info("the secrets of the commerce platform's events were read again", "secrets", len(c.Commerce.Webhooks.Secrets))
	}
}
