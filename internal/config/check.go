package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/internal/messaging"
	"campaignd/internal/secret"
)

// Validate returns the first fault of the configuration, with its key and the remedy. Load
// calls it; a caller that changes a Config afterwards calls it again.
func (c *Config) Validate() error {
	return cmp.Or(
		c.checkUnsupported(),
		address("listen.public", c.Listen.Public),
		address("listen.admin", c.Listen.Admin),
		c.Listen.checkHosts(),
		c.Listen.PublicTLS.check("listen.public_tls"),
		c.Listen.AdminTLS.check("listen.admin_tls"),
		c.checkLedger(),
		c.checkRedis(),
		oneOf("role", string(c.Role), string(RoleAll), string(RoleIntake), string(RoleSender)),
		c.checkReplicas(),
		c.checkConnections(),
		c.Service.check(),
		c.Webhooks.check(),
		c.checkSecrets(),
		c.checkCloud(),
		c.checkCommerce(),
		c.checkNumbers(),
		c.Plan.check(),
		c.checkPrices(),
		c.checkDrops(),
		c.checkNotifications(),
		oneOf("suppressions.scope", c.Suppressions.Scope, everywhere, PerCompany),
		c.Suppressions.checkWords(),
		c.Retention.check(),
		c.SentBefore.check(),
		oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error"),
		oneOf("log.format", c.Log.Format, "text", "json"),
		c.Sending.check(time.Duration(c.Service.Timeout)),
	)
}

// OptOut knows the words that opt out, with those of suppressions.words.
func (c *Config) OptOut() messaging.OptOut { return messaging.NewOptOut(c.Suppressions.Words...) }

// checkWords refuses words that no message can match.
func (s Suppressions) checkWords() error {
	for i, w := range s.Words {
		if !messaging.NewOptOut(w).Match(w) {
			return fmt.Errorf("suppressions.words[%d]: want a word or a short message with letters or digits, of at most 256 bytes", i)
		}
	}
	return nil
}

// CanSend returns what a sender needs and this configuration lacks, and nil when it can send.
func (c *Config) CanSend() error {
	if c.Role == RoleIntake {
		return errors.New("role: intake takes webhooks and sends nothing; give all or sender")
	}
	if c.SharedLedger() && c.Redis == "" && c.Replicas != 1 {
		// Limits kept in several processes add up: each would send the whole rate of a number
		// (docs/operations.md#several-replicas).
		return errors.New("redis is empty, so each process would send a number's full rate: " +
			"give redis://HOST:PORT, or replicas: 1 if only one process ever sends from this ledger")
	}
	if c.Service.APIKey.IsZero() && !c.Cloud.Configured() {
		return errors.New("service.api_key is empty: " +
			"set CAMPAIGND_SERVICE_API_KEY, or CAMPAIGND_SERVICE_API_KEY_FILE to the file that holds it; " +
			"or give cloud.accounts")
	}
	return nil
}

// Receives reports whether there is a secret by which some webhooks can be verified.
func (c *Config) Receives() bool { return len(c.Webhooks.Secrets) > 0 || c.Cloud.Configured() }

// CanReceive returns an error when webhooks of the service cannot be verified with this
// configuration. The secrets of the Cloud API do not vouch for the service. They are enough if the
// service has no key.
func (c *Config) CanReceive() error {
	if len(c.Webhooks.Secrets) == 0 && (!c.Cloud.Configured() || !c.Service.APIKey.IsZero()) {
		return errors.New("webhooks.secrets is empty, so no event of the service could be verified: " +
			"set CAMPAIGND_WEBHOOKS_SECRETS, or CAMPAIGND_WEBHOOKS_SECRETS_FILE to the file that holds them")
	}
	return nil
}

// checkUnsupported refuses values that this version reads but does not obey. A limit that is not
// obeyed would be worse than an error (docs/decisions/0006-unsupported-keys.md).
func (c *Config) checkUnsupported() error {
	switch {
	case c.Correlation != "off" && c.Correlation != "tag":
		return oneOf("correlation", c.Correlation, "off", "tag")
	case c.Correlation == "tag":
		return errors.New("correlation: tag is not executed by this version; give off")
	}
	return nil
}

func (c *Config) checkLedger() error {
	if c.SharedLedger() {
		return nil // libpq defines the form of the URL; opening the ledger reports its faults
	}
	if path, found := strings.CutPrefix(c.Ledger, "sqlite:"); !found || path == "" {
		return fmt.Errorf("ledger: %q is not a ledger; give sqlite:FILE, for example sqlite:campaignd.db, or postgres://USER@HOST/DATABASE",
			shownAddress(c.Ledger))
	}
	return nil
}

// shownAddress is an address for a message. Text that is no address may be the secret alone.
func shownAddress(s string) string {
	if strings.Contains(s, "://") || strings.HasPrefix(s, "sqlite:") || strings.HasSuffix(s, ".db") {
		return RedactURL(s)
	}
	return "***"
}

func (c *Config) checkConnections() error {
	if n := c.LedgerConnections; n < 6 || n > 300 {
		return fmt.Errorf("ledger_connections: %d is out of bounds; give 6 to 300, a third for each of sending, webhooks and reports", n)
	}
	return nil
}

func (c *Config) checkReplicas() error {
	switch {
	case c.Replicas < 0 || c.Replicas > 1000:
		return fmt.Errorf("replicas: %d is out of bounds; give how many processes send, or 0 for any number", c.Replicas)
	case c.Replicas > 1 && !c.SharedLedger():
		return fmt.Errorf("replicas: %d cannot send from an SQLite ledger; "+
			"give replicas: 1, or a ledger postgres://USER@HOST/DATABASE", c.Replicas)
	}
	return nil
}

func (c *Config) checkRedis() error {
	if u, err := url.Parse(c.Redis); c.Redis != "" && (err != nil || u.Host == "" || u.Scheme != "redis" && u.Scheme != "rediss") {
		return fmt.Errorf("redis: %q is not the address of a Redis; give redis://HOST:PORT, or rediss:// for TLS", shownAddress(c.Redis))
	}
	return nil
}

func (s *Service) check() error {
	u, err := url.Parse(s.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("service.base_url: %q is not a URL; give https://HOST", RedactURL(s.BaseURL))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("service.base_url: give scheme and host only; the key belongs to service.api_key")
	case u.Scheme == "http" && !s.AllowHTTP && !secret.Loopback(u.Hostname()):
		// The service answers http with 301 (docs/service.md#conventions). By then the key has crossed
		// the network unencrypted.
		return fmt.Errorf("service.base_url: %s sends the key unencrypted; "+
			"give https://%s, or service.allow_http: true inside a network of your own", s.BaseURL, u.Host)
	case strings.HasSuffix(s.BaseURL, "/"):
		return fmt.Errorf("service.base_url: remove the slash at the end of %s (the service answers it with 308)", s.BaseURL)
	}
	for i, r := range s.Refusals {
		if r.Status < 408 || r.Status > 599 || r.Error == "" {
			return fmt.Errorf("service.refusals[%d]: give a status from 408 to 599 and the error code that comes with it", i)
		}
	}
	if err := s.Assumptions().Validate(); err != nil {
		return fmt.Errorf("service.assumed.%w", err)
	}
	return cmp.Or(
		headerText("service.api_key", s.APIKey),
		between("service.timeout", s.Timeout, 10*time.Millisecond, 25*time.Second))
}

// Bounds of a number's rate, in messages per second. The limiter refuses rates below
// throughput.MinRate, 1e-6, and a refused rate would stop the number. A number is paced at 0.855 of
// its rate, and at 0.02 of that while the service throttles (docs/limits.md#slowing-down):
// 1e-4 x 0.855 x 0.02 = 1.7e-6.
const (
	minNumberRate = 1e-4
	maxNumberRate = 1e4
	maxTier       = 100_000_000
)

func (c *Config) checkNumbers() error {
	for _, id := range slices.Sorted(maps.Keys(c.Numbers)) {
		if err := c.Numbers[id].Ramp.check(id); err != nil {
			return err
		}
		switch r := c.Numbers[id].Rate; {
		case r == 0: // the rate that the service tells
		case !(r >= minNumberRate && r <= maxNumberRate): // also NaN
			return fmt.Errorf("numbers.%s.rate: %v messages per second is out of bounds; give %v to %v, "+
				"for example 80 (STANDARD) or 1000 (HIGH), or 0 for what the service tells", id, r, minNumberRate, maxNumberRate)
		}
		if n := c.Numbers[id].Tier; n < -1 || n > maxTier {
			return fmt.Errorf("numbers.%s.tier: %d people in 24 hours; give 1 to %d, -1 for no limit, or 0 for the tier that the service tells",
				id, n, maxTier)
		}
	}
	return nil
}

// check refuses a ramp that does not rise to its ceiling.
func (r *Ramp) check(connection string) error {
	if r == nil || r.Start >= 1 && r.Step >= 0 && r.Ceiling >= r.Start && r.Ceiling <= maxMessages {
		return nil
	}
	return fmt.Errorf("numbers.%s.ramp: start %d, step %d, ceiling %d is no warm-up; give a start of 1 or more, a step of 0 or more, "+
		"and a ceiling from the start to %d", connection, r.Start, r.Step, r.Ceiling, int64(maxMessages))
}

// maxMessages is the most messages of a month or a day that a limit may have.
const maxMessages = 1e12

func (p *Plan) check() error {
	if _, err := plan.Zone(p.Resets.Timezone); err != nil {
		return fmt.Errorf("plan.resets.timezone: %w", err)
	}
	switch {
	case p.MonthlyMessages < 0 || p.MonthlyMessages > maxMessages:
		return fmt.Errorf("plan.monthly_messages: %d is out of bounds; give 0 to %d", p.MonthlyMessages, int64(maxMessages))
	case p.Resets.Day < 1 || p.Resets.Day > 28:
		return fmt.Errorf("plan.resets.day: %d is out of bounds; give 1 to 28, a day that every month has", p.Resets.Day)
	case !(p.Reserve >= 0 && p.Reserve <= 1): // also NaN
		return fmt.Errorf("plan.reserve: %v is out of bounds; give a share from 0 to 1", p.Reserve)
	}
	return nil
}

func (s *Sending) check(request time.Duration) error {
	if err := cmp.Or(
		between("sending.lease", s.Lease, 500*time.Millisecond, 5*time.Minute),
		between("sending.group", s.Group, time.Millisecond, time.Second),
		between("sending.flush", s.Flush, time.Millisecond, time.Second),
		between("sending.tick", s.Tick, time.Millisecond, 10*time.Second),
		between("sending.backoff", s.Backoff, time.Millisecond, 10*time.Minute),
	); err != nil {
		return err
	}
	for _, d := range s.Repeats {
		if err := between("sending.repeats", d, time.Millisecond, 24*time.Hour); err != nil {
			return err
		}
	}
	if len(s.Repeats) == 0 || len(s.Repeats) > 20 {
		return fmt.Errorf("sending.repeats: %d waits; give 1 to 20, such as [1m, 5m, 30m, 2h, 6h]", len(s.Repeats))
	}
	if s.InFlight < 1 || s.InFlight > 10000 {
		return fmt.Errorf("sending.in_flight: %d is out of bounds; give 1 to 10000", s.InFlight)
	}
	// The owner of a segment must record its last answer before another process may claim the
	// segment. A fifth of the request's time, 2 s of 10 s, is for writing results
	// (docs/protocol.md#leases).
	if least := request + request/5; time.Duration(s.Lease) <= least {
		return fmt.Errorf("sending.lease: %s is too short for service.timeout %s; give more than %s",
			s.Lease, campaign.Duration(request), campaign.Duration(least))
	}
	return nil
}

func (t TLS) check(key string) error {
	if (t.Certificate == "") != (t.Key == "") {
		return fmt.Errorf("%s: one of certificate and key is missing; name both files, or none for plain HTTP", key)
	}
	return nil
}

func address(key, value string) error {
	host, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || strings.ContainsAny(host, "/ ") {
		return fmt.Errorf("%s: %q is not an address; give HOST:PORT or :PORT, for example 127.0.0.1:8080", key, value)
	}
	return nil
}

func oneOf(key, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s: %q is unknown; give %s", key, value, strings.Join(allowed, ", "))
}

func between(key string, value campaign.Duration, least, most time.Duration) error {
	if d := time.Duration(value); d < least || d > most {
		return fmt.Errorf("%s: %s is out of bounds; give %s to %s", key, value, campaign.Duration(least), campaign.Duration(most))
	}
	return nil
}

// headerText refuses a secret that an HTTP header cannot hold. The error does not contain the
// secret.
func headerText(key string, s messaging.Secret) error {
	for _, r := range s.Reveal() {
		if r <= ' ' || r > '~' {
			return fmt.Errorf("%s holds a blank, a line break or a letter outside ASCII: check that it was copied whole and alone", key)
		}
	}
	return nil
}

// checkHosts returns the first fault of listen.admin_hosts.
func (l Listen) checkHosts() error {
	for i, name := range l.AdminHosts {
		if name == "" || strings.ContainsAny(name, "/:* ") {
			return fmt.Errorf("listen.admin_hosts[%d]: %q is not a name; give it without scheme and port, for example campaignd.example", i, name)
		}
	}
	return nil
}

func (s SentBefore) check() error {
	if d := s.Within.Std(); d < time.Hour || d > 366*24*time.Hour {
		return fmt.Errorf("sent_before.within: %s; want 1h to 366d, for example 30d", s.Within)
	}
	return nil
}

func (r Retention) check() error {
	if d := r.Deliveries; d != 0 && d.Std() < campaign.LeastRetention {
		return fmt.Errorf("retention.deliveries: %s is too short, because the limits of a month count older messages; "+
			"give 32d or more, for example 90d, or 0s to delete nothing", d)
	}
	return nil
}
