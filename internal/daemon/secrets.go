package daemon

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"campaignd/internal/messaging"
)

// secretsEvery is how often the files of secrets are looked at.
const secretsEvery = time.Second

// stampOf changes with the files, also when a link is set to another folder, as Kubernetes does.
func stampOf(files []string) (s string) {
	for _, path := range files {
		if info, err := os.Stat(path); err != nil {
			s += err.Error() + ";"
		} else {
			s += fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size(), ";")
		}
	}
	return s
}

// watchSecrets takes a new key of the service and new webhook secrets from their files, until ctx
// ends. Other keys of the configuration count at the next start.
func (d *Daemon) watchSecrets(ctx context.Context) {
	if d.cfg.again == nil {
		return // the configuration came from no file
	}
	read, now := stampOf(d.cfg.files), *d.cfg
	// The first look also reads files that changed since the start.
	d.renewSecrets(&now)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(secretsEvery):
		}
		if stamp := stampOf(d.cfg.files); stamp != read {
			read = stamp
			d.renewSecrets(&now)
		}
	}
}

// renewSecrets reads the configuration again and uses the secrets that differ from those of now.
// The last good ones stay if it cannot be read, such as between the writing of one file and
// another.
func (d *Daemon) renewSecrets(now *Config) {
	c, err := d.cfg.again()
	if err != nil {
		d.log.Warn("secrets cannot be read again; the last ones stay", "err", err)
		return
	}
	same := func(a, b messaging.Secret) bool { return a.Reveal() == b.Reveal() }
	if d.client != nil && !same(c.Service.APIKey, now.Service.APIKey) {
		if err := d.client.SetKey(c.Service.APIKey); err != nil {
			d.log.Warn("the new key of the service is not used", "err", err)
		} else {
			d.directory.setKey(c.Service.APIKey)
			now.Service.APIKey = c.Service.APIKey
			d.log.Info("the key of the service was read again")
		}
	}
	if d.verifier != nil && !slices.EqualFunc(c.Webhooks.Secrets, now.Webhooks.Secrets, same) {
		if err := d.verifier.Renew(c.Webhooks.Secrets...); err != nil {
			d.log.Warn("the new webhook secrets are not used", "err", err)
		} else {
			now.Webhooks.Secrets = c.Webhooks.Secrets
			d.log.Info("the webhook secrets were read again", "secrets", len(c.Webhooks.Secrets))
		}
	}
}
