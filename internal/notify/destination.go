package notify

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/secret"
)

// The formats of a body.
const (
	Standard = "standard" // signed, with the facts as JSON
	Slack    = "slack"    // {"text": one sentence}, unsigned: the address itself is the secret
)

// Destination is one address of the operator's.
type Destination struct {
	Name    string
	URL     messaging.Secret
	Format  string // Standard or Slack; "": Standard
	Secrets []messaging.Secret
	Events  []string // kinds; empty: all

	keys [][]byte
}

// Check reads the signing keys, and returns the first fault. The error begins with the key of the
// configuration below the destination, and contains no part of a secret.
func (d *Destination) Check() error {
	u, err := url.Parse(d.URL.Reveal())
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("url: want an address such as https://hooks.example/campaignd, without user and password")
	case u.Scheme == "http" && !secret.Loopback(u.Hostname()):
		return errors.New("url: http is for this machine alone; give an https address")
	case d.Format != "" && d.Format != Standard && d.Format != Slack:
		return fmt.Errorf("format: %q is unknown; give %s or %s", d.Format, Standard, Slack)
	case d.Format == Slack && len(d.Secrets) > 0:
		return errors.New("secrets: format slack is not signed; its address is the secret")
	case d.Format != Slack && len(d.Secrets) == 0:
		return errors.New("secrets: none; give one such as `echo whsec_$(openssl rand -base64 32)` draws, which the receiver also knows")
	}
	d.keys = nil
	for i, s := range d.Secrets {
		key, err := keyOf(s)
		if err != nil {
			return fmt.Errorf("secrets[%d]: %w", i, err)
		}
		d.keys = append(d.keys, key)
	}
	for i, e := range d.Events {
		if !slices.Contains(campaign.NotificationKinds, campaign.NotificationKind(e)) {
			var all []string
			for _, k := range campaign.NotificationKinds {
				all = append(all, string(k))
			}
			return fmt.Errorf("events[%d]: %q is unknown; give %s", i, e, strings.Join(all, ", "))
		}
	}
	return nil
}

// Wants reports whether the destination is told of a kind.
func (d *Destination) Wants(k campaign.NotificationKind) bool {
	return len(d.Events) == 0 || slices.Contains(d.Events, string(k))
}
