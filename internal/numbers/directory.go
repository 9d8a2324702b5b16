// Package numbers has what a process knows of its connections and their numbers, from the
// configuration and from what the service told last: a Directory of them, and the Quotas of a
// period, which are the plan's allowance and the warm-up of numbers.
package numbers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/recipients"
	"campaignd/throttle/throughput"
)

// Directory knows the connections: their pace, and the ids that holds name. The
// configuration overrides what the service tells, and that overrides the defaults
// (docs/limits.md#throughput). It is safe for concurrent use.
type Directory struct {
	cfg *config.Config
	key string // fingerprint of the API key

	portfolios map[string]bool // of the accounts of the Cloud API

	mu      sync.RWMutex
	known   map[string]messaging.Connection // by id
	cloud   map[string]bool                 // the accounts of the Cloud API
	owned   func() []string                 // see PlatformOf
	byPhone map[int64]string                // connection id by recipients.Key of its phone number
	rates   map[string]throughput.Pace      // as the service tells
	quality map[string]string               // messaging.Number.Quality
	tiers   map[string]int64                // messaging.Number.TierLimit
	asked   bool                            // the list of numbers was read, or the service has none
	listed  bool                            // the list of connections was read
}

// NewDirectory makes a Directory of the configured connections, before the service is asked.
func NewDirectory(cfg *config.Config) *Directory {
	accounts, portfolios := map[string]bool{}, map[string]bool{}
	for _, a := range cfg.Cloud.Accounts {
		accounts[a.ID], portfolios[cmp.Or(a.Portfolio, a.ID)] = true, true
	}
	names := slices.Sorted(maps.Keys(cfg.Cloud.Names))
	return &Directory{cfg: cfg, key: fingerprint(cfg.Service.APIKey), cloud: accounts, portfolios: portfolios,
		owned: func() []string { return names },
		known: map[string]messaging.Connection{}, byPhone: map[int64]string{}, rates: map[string]throughput.Pace{},
		quality: map[string]string{}, tiers: map[string]int64{}}
}

// SetKey is called with a new key of the service. Holds of the old key do not stop the new one.
func (d *Directory) SetKey(key messaging.Secret) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.key = fingerprint(key)
}

// fingerprint names a key without showing it: the first 8 bytes of its SHA-256, in hex; "" without
// a key.
func fingerprint(key messaging.Secret) string {
	if key.IsZero() {
		return ""
	}
	sum := sha256.Sum256([]byte(key.Reveal()))
	return hex.EncodeToString(sum[:8])
}

// Origin returns what is known of a connection. The ids are the same in every process: they come
// from the configuration, else from the service's list. A connection whose account is not known is
// its own account, and a company is its own portfolio.
func (d *Directory) Origin(connection string) campaign.Origin {
	own := d.cfg.Numbers[connection]
	d.mu.RLock()
	told, key := d.known[connection], d.key
	d.mu.RUnlock()
	o := campaign.Origin{Key: key, Connection: connection, Platform: d.Foreign(connection, "", "")}
	if o.Platform {
		o.Key = "" // the key is the service's
	}
	o.Company = cmp.Or(own.Company, told.CompanyID)
	o.Account = cmp.Or(own.Account, told.AccountID, connection)
	o.Portfolio = cmp.Or(own.Portfolio, o.Company)
	return o
}

// Owned reports whether it is known whose connection this is: it is configured with a company, or
// the service has listed it. A connection that was removed, or has another id now, is not.
func (d *Directory) Owned(connection string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	_, listed := d.known[connection]
	return listed || d.cfg.Numbers[connection].Company != ""
}

// Listed reports whether the list of connections was read.
func (d *Directory) Listed() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.listed
}

// Sending is the origin of a message that is about to be sent. Until the list of connections was
// read, a connection whose company or account is not configured is Unasked: a process that starts
// while the service is away obeys every hold of a company, an account or a portfolio.
func (d *Directory) Sending(connection string) campaign.Origin {
	o, own := d.Origin(connection), d.cfg.Numbers[connection]
	d.mu.RLock()
	defer d.mu.RUnlock()
	o.Unasked = !d.listed && (own.Company == "" || own.Account == "")
	return o
}

// QualityOf returns the rating that the service told last; "" if it told none.
func (d *Directory) QualityOf(connection string) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.quality[connection]
}

// Foreign reports whether a connection, an account or a company is of the Cloud API, so that only
// the platform may tell of it. The company of a connection of the Cloud API is its portfolio.
func (d *Directory) Foreign(connection, account, company string) bool {
	if len(d.cloud) == 0 {
		return false
	}
	_, owned := slices.BinarySearch(d.Platform(), connection)
	if owned || d.cloud[account] || d.portfolios[company] {
		return true
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.cloud[d.known[connection].AccountID]
}

// Platform returns the connections of the Cloud API that are named or that a listing had, in order.
func (d *Directory) Platform() []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.owned()
}

// PlatformOf gives the Directory the source of Platform: cloud.Client.Owned.
func (d *Directory) PlatformOf(owned func() []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owned = owned
}

// IDs returns every known connection, in order.
func (d *Directory) IDs() []string {
	d.mu.RLock()
	ids := slices.Collect(maps.Keys(d.known))
	d.mu.RUnlock()
	for id := range d.cfg.Numbers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Tier is how many people the connection's portfolio may reach in 24 hours: the configured tier,
// else the one that the service tells. A connection whose company is not known shares its tier with
// none.
func (d *Directory) Tier(connection string) campaign.Tier {
	d.mu.RLock()
	told := d.tiers[connection]
	d.mu.RUnlock()
	return campaign.Tier{Portfolio: cmp.Or(d.Origin(connection).Portfolio, connection),
		Places: max(0, cmp.Or(d.cfg.Numbers[connection].Tier, told))}
}

// Tiered reports whether the connection has a tier.
func (d *Directory) Tiered(connection string) bool { return d.Tier(connection).Places > 0 }

// Peers returns the accounts that may be the business account of a connection, beside its own. If
// the service does not tell accounts, each connection of a company counts as its own account,
// although several may share one.
func (d *Directory) Peers(connection string) (accounts []string) {
	o := d.Origin(connection)
	if o.Company == "" || o.Account != connection {
		return nil
	}
	for _, id := range d.IDs() {
		if other := d.Origin(id); id != connection && other.Company == o.Company && other.Account == id {
			accounts = append(accounts, id)
		}
	}
	return accounts
}

// Ask makes a client and calls refresh with it, for at most wait. Without an API key it does
// nothing.
func (d *Directory) Ask(
	ctx context.Context, wait time.Duration, refresh func(context.Context, messaging.Service) ([]messaging.Connection, error),
) error {
	client, err := config.NewConnectors(d.cfg)
	if errors.Is(err, connector.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	_, err = refresh(ctx, client)
	return err
}

// Refresh asks the service for its connections and their rates. The configuration and the defaults
// stay in use where the service has no numbers endpoint.
func (d *Directory) Refresh(ctx context.Context, c messaging.Service) ([]messaging.Connection, error) {
	conns, err := d.RefreshConnections(ctx, c)
	if err != nil {
		return nil, err
	}
	_, err = d.RefreshRates(ctx, c)
	return conns, err
}

// RefreshConnections asks the service for its connections, and returns them.
func (d *Directory) RefreshConnections(ctx context.Context, c messaging.Service) ([]messaging.Connection, error) {
	conns, err := c.Connections(ctx)
	if err != nil {
		return nil, d.withRemedy("connections", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed = true
	for _, c := range conns {
		d.known[c.ID] = c
		if k := recipients.Key(c.Phone); k != 0 {
			d.byPhone[k] = c.ID
		}
	}
	return conns, nil
}

// RefreshRates asks for the rates, and returns the paces that are new or have changed. After an
// error the last known ones stay in use. The pace of a configured rate changes only when the
// service tells that the number is a coexistence number, or is none any more.
func (d *Directory) RefreshRates(ctx context.Context, c messaging.Service) (changed map[string]throughput.Pace, err error) {
	health, err := c.Numbers(ctx)
	if err != nil && !errors.Is(err, messaging.ErrNotOffered) {
		return nil, d.withRemedy("numbers", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = true
	changed = map[string]throughput.Pace{}
	for _, h := range health {
		d.quality[h.ConnectionID] = h.Quality
		d.tiers[h.ConnectionID] = h.TierLimit
		_, known := d.rates[h.ConnectionID]
		before := d.limit(h.ConnectionID)
		d.rates[h.ConnectionID] = throughput.Number{Limit: h.Throughput, Level: h.Level, Coexistence: h.Coexistence}.Pace()
		if now := d.limit(h.ConnectionID); now != before || !known && d.cfg.Numbers[h.ConnectionID].Rate <= 0 {
			changed[h.ConnectionID] = now
		}
	}
	return changed, nil
}

// withRemedy adds the remedy to the error of a service that does not answer, or that does not know
// the key.
func (d *Directory) withRemedy(what string, err error) error {
	var e *messaging.Error
	remedy := ""
	if errors.As(err, &e) {
		switch untrusted := messaging.Untrusted(err); {
		case untrusted != "":
			remedy = "; " + untrusted
		case e.Status == 0:
			remedy = "; check service.base_url, or try without a service: campaignd sandbox"
		case e.Status == 401:
			remedy = "; " + d.cfg.Service.KeyRemedy()
		}
	}
	if d.cfg.Service.APIKey.IsZero() {
		return fmt.Errorf("cannot ask the Cloud API at %s for its %s: %w; check cloud.base_url and cloud.accounts",
			d.cfg.Cloud.BaseURL, what, err)
	}
	return fmt.Errorf("cannot ask the service at %s for its %s: %w%s", d.cfg.Service.BaseURL, what, err, remedy)
}

// Pace returns the rate of a connection in messages per second, a little below its limit
// (docs/limits.md#pace). It is 0 while the service could not be asked for what the configuration
// does not have: a number of 20/s must not be sent at 72, and none beyond its tier.
func (d *Directory) Pace(connection string) float64 {
	own := d.cfg.Numbers[connection]
	d.mu.RLock()
	defer d.mu.RUnlock()
	_, told := d.rates[connection]
	if told = told || d.asked; !told && (own.Rate <= 0 || own.Tier == 0) {
		return 0
	}
	if tiered := cmp.Or(own.Tier, d.tiers[connection]) > 0; tiered && !d.listed && cmp.Or(own.Portfolio, own.Company) == "" {
		return 0 // it is not known which connections share the tier
	}
	return d.limit(connection).Rate
}

// Rated reports whether the rate of a connection is known.
func (d *Directory) Rated(connection string) bool {
	return d.cfg.Numbers[connection].Rate > 0 || d.Ready() || d.Told(connection)
}

// AssumedPace is the pace as far as the rate is known. Without a rate it is the pace of a STANDARD
// number.
func (d *Directory) AssumedPace(connection string) float64 { return d.Limit(connection).Rate }

// Limit is AssumedPace with its parts, from which a number learns.
func (d *Directory) Limit(connection string) throughput.Pace {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.limit(connection)
}

// limit is Limit. The caller holds the lock.
func (d *Directory) limit(connection string) throughput.Pace {
	told, ok := d.rates[connection]
	if own := d.cfg.Numbers[connection].Rate; own > 0 {
		return throughput.Number{Limit: own, Coexistence: told.Fixed}.Pace()
	}
	if ok {
		return told
	}
	return throughput.Number{}.Pace()
}

// Ready reports whether the service has told its rates, or has no such list.
func (d *Directory) Ready() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.asked
}

// Told reports whether the service told the rate of a connection.
func (d *Directory) Told(connection string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	_, ok := d.rates[connection]
	return ok
}

// ConnectionOf returns the id of the connection with a display number, and "" for none. An event of
// the platform may name its connection by this number only (docs/service.md#events).
func (d *Directory) ConnectionOf(phone string) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.byPhone[recipients.Key("+"+phone)]
}
