// Package doctor looks at what campaignd depends on: the service and its key, clocks, the ledger,
// disks, Redis, webhook endpoints, the commerce platform, folders and time zones.
//
// cmd/campaignd calls it for `doctor`, `webhooks test` and `commerce status`. It promises to change
// nothing, to send no message, and to say ok only of what it has looked at.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// Health is the result of one check of the doctor.
type Health string

// The results.
const (
	HealthOK   Health = "ok"
	HealthWarn Health = "warn" // it works, and may not for long
	HealthFail Health = "fail" // sending or receiving does not work
	// HealthUnchecked is of what could not be looked at, so that nothing is known of it.
	HealthUnchecked Health = "not checked"
)

// Check is one thing that the doctor looked at.
type Check struct {
	Name   string `json:"check"`
	Health Health `json:"result"`
	// Detail is what was seen, in one line without a secret.
	Detail string `json:"detail"`
	// Remedy is what to do; "" with HealthOK.
	Remedy string `json:"remedy,omitempty"`
}

func good(name, format string, a ...any) Check {
	return Check{Name: name, Health: HealthOK, Detail: fmt.Sprintf(format, a...)}
}

func warn(name, remedy, format string, a ...any) Check {
	return Check{name, HealthWarn, fmt.Sprintf(format, a...), remedy}
}

func unchecked(name, remedy, format string, a ...any) Check {
	return Check{name, HealthUnchecked, fmt.Sprintf(format, a...), remedy}
}

func fail(name, remedy string, err error) Check {
	return Check{name, HealthFail, messaging.ScrubError(err, 300), cmp.Or(messaging.Untrusted(err), remedy)}
}

// doctorWait is the longest time of one check.
const doctorWait = 10 * time.Second

// Diagnose checks what campaignd depends on, by doing what sending does, without changing anything
// or sending a message: the service and its key, clocks, the ledger and its runs, disks, Redis,
// certificates, the webhook endpoints, notification addresses, the commerce platform, the campaigns
// folder, watched folders and the time zones. The checks run at once; their order is always the
// same.
func Diagnose(ctx context.Context, cfg *config.Config) []Check {
	all := [...]func(context.Context, *config.Config) []Check{
		checkService, checkCloud, checkLedger, checkDisks, checkRedis, checkCertificates, checkEndpoint,
		checkNotifications, checkCommerce, checkCampaigns, checkDrops, checkZones, checkProxy,
	}
	var found [len(all)][]Check
	var wait sync.WaitGroup
	for i, check := range all {
		wait.Go(func() {
			within, cancel := context.WithTimeout(ctx, doctorWait)
			defer cancel()
			found[i] = check(within, cfg)
		})
	}
	wait.Wait()
	var checks []Check
	for _, f := range found {
		checks = append(checks, f...)
	}
	return checks
}

// clockReader notes how far the service's clock is from ours, by the Date of its answers (RFC 9110,
// section 6.6.1).
type clockReader struct {
	next http.RoundTripper
	mu   sync.Mutex
	skew time.Duration
	seen bool
}

// RoundTrip implements http.RoundTripper.
func (w *clockReader) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := time.Now()
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	now := time.Now()
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		w.mu.Lock()
		w.skew, w.seen = skewOf(at.Add(500*time.Millisecond), asked, now), true // Date has whole seconds
		w.mu.Unlock()
	}
	return resp, nil
}

// direct returns a transport without a proxy, as messages have none.
func direct() *http.Transport { return &http.Transport{TLSHandshakeTimeout: doctorWait} }

// skewOf is how far our clock is ahead of another one that was read between asked and now.
func skewOf(at, asked, now time.Time) time.Duration {
	return asked.Add(now.Sub(asked) / 2).Sub(at).Round(100 * time.Millisecond)
}

// checkService lists the connections and the webhooks that the key can reach.
func checkService(ctx context.Context, cfg *config.Config) []Check {
	const name = "service"
	if err := cfg.CanSend(); err != nil && cfg.Role != config.RoleIntake {
		return []Check{fail("configuration", "change the configuration", err)}
	}
	if cfg.Service.APIKey.IsZero() && cfg.Cloud.Configured() {
		return nil
	}
	if cfg.Service.APIKey.IsZero() {
		return []Check{good(name, "an intake without a key asks the service for nothing")}
	}
	transport := direct()
	defer transport.CloseIdleConnections()
	clock := &clockReader{next: transport}
	client, err := config.NewClientOver(cfg, clock)
	if err != nil {
		return []Check{fail(name, "change service in the configuration", err)}
	}
	defer client.Close()
	began := time.Now()
	connections, err := client.Connections(ctx)
	took := time.Since(began).Round(time.Millisecond)
	checks := []Check{}
	var e *messaging.Error
	switch {
	case errors.As(err, &e) && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden):
		checks = append(checks, good(name, "%s answered in %s", cfg.Service.BaseURL, took),
			fail("key", cfg.Service.KeyRemedy()+", and its scope at the service", err))
	case err != nil:
		return []Check{fail(name, "check service.base_url, DNS and the firewall", err)}
	default:
		checks = append(checks, good(name, "%s answered in %s", cfg.Service.BaseURL, took), keyScope(cfg, connections),
			checkAssumed(ctx, client, connections))
	}
	if !clock.seen {
		return append(checks, unchecked("clock", "synchronise the clock of this machine (NTP)", "the answers of the service have no Date"))
	}
	return append(checks, clockCheck("clock", "the service's", clock.skew))
}

// keyScope compares the connections that the key reaches with those of the configuration.
func keyScope(cfg *config.Config, connections []messaging.Connection) Check {
	reached, companies := map[string]bool{}, map[string]bool{}
	for _, c := range connections {
		reached[c.ID], companies[c.CompanyID] = true, true
	}
	var missing []string
	for id := range cfg.Numbers {
		if !reached[id] {
			missing = append(missing, id)
		}
	}
	switch {
	case len(connections) == 0:
		return warn("key", "connect a number at the service, or use a key of the right company", "it reaches no connection")
	case len(missing) > 0:
		slices.Sort(missing)
		return warn("key", "use a key of the company that has them, or take them out of numbers",
			"it does not reach %s of the configuration", strings.Join(missing, ", "))
	}
	return good("key", "it reaches %s of %s", sentence.Count(int64(len(connections)), "connection", "connections"),
		sentence.Count(int64(len(companies)), "company", "companies"))
}

// clockCheck compares our clock with another. Signed webhooks allow 5 minutes.
func clockCheck(name, whose string, skew time.Duration) Check {
	const remedy = "synchronise the clock of this machine (NTP)"
	detail := fmt.Sprintf("%s from %s", skew.Abs(), whose)
	switch {
	case skew.Abs() >= time.Minute:
		return Check{name, HealthFail, detail, remedy}
	case skew.Abs() >= 2*time.Second:
		return Check{name, HealthWarn, detail, remedy}
	}
	return Check{Name: name, Health: HealthOK, Detail: detail}
}

// ledgerClock compares our clock with the ledger's. Schedules fire only where the two agree
// (docs/operations.md#schedules).
func ledgerClock(skew time.Duration) Check {
	c := clockCheck("ledger clock", "the database server's", skew)
	if c.Health == HealthFail {
		c.Detail += ", so no schedule fires here"
	}
	return c
}

// ledgerRemedy says what to do about a ledger that cannot be read.
func ledgerRemedy(cfg *config.Config) string {
	if cfg.SharedLedger() {
		return "check ledger in the configuration, and that its server runs"
	}
	return "check ledger in the configuration; docs/recovery.md, Backup and restore, has the steps"
}

// checkLedger reads the ledger and the settings that its durability rests on.
func checkLedger(ctx context.Context, cfg *config.Config) []Check {
	const name = "ledger"
	if err := backend.Lost(cfg); err != nil {
		return []Check{fail(name, "put the file back, or stop the process and restore a backup", err)}
	}
	if cfg.NoLedger() {
		return []Check{good(name, "there is none yet; the first run makes it")}
	}
	l, err := backend.Read(ctx, cfg, nil)
	if err != nil {
		return []Check{fail(name, ledgerRemedy(cfg), err)}
	}
	defer l.Close()
	asked := time.Now()
	teller, ok := l.(ledger.Diagnosable)
	if !ok {
		return nil
	}
	f, err := teller.Diagnose(ctx)
	now := time.Now()
	if err != nil {
		return []Check{fail(name, ledgerRemedy(cfg), err)}
	}
	checks := []Check{good(name, "%s can be read, and `serve` may send from it", ledger.Redact(cfg.Ledger))}
	if f.Unread {
		checks[0].Detail += "; there was no time to read its whole file, and `campaignd backup FILE` does"
	}
	if r, ok := l.(ledger.Sendable); ok {
		if err := r.Sendable(ctx); err != nil {
			checks = []Check{fail(name, "follow docs/recovery.md, When the ledger went back in time", err)}
		}
	}
	if f.Damage != nil {
		checks = []Check{fail(name, ledgerRemedy(cfg), f.Damage)}
	}
	if f.Unsafe != nil {
		checks = append(checks, Check{"durability", HealthFail, f.Unsafe.Error(), "change that setting; nothing is sent before"})
	} else {
		checks = append(checks, good("durability", "%s", f.Durable))
	}
	if f.Failover != "" {
		checks = append(checks, good("failover", "%s", f.Failover))
	}
	if !f.Clock.IsZero() {
		checks = append(checks, ledgerClock(skewOf(f.Clock, asked, now)))
	}
	checks = append(checks, checkRuns(ctx, l), checkOptOuts(ctx, l), checkSignatures(ctx, cfg, l))
	return append(checks, checkLost(ctx, l)...)
}
