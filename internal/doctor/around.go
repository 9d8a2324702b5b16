package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/throttle"
)

// Limits of free space. A message takes about 700 bytes of the ledger, so 1 GiB is enough for more
// than a million messages.
const (
	diskWarn = 1 << 30
	diskFail = 64 << 20
)

// checkDisks looks at the free space of the folders that campaignd writes to.
func checkDisks(_ context.Context, cfg *config.Config) (checks []Check) {
	const name = "disk"
	for _, f := range slices.Compact(slices.Sorted(maps.Values(cfg.Disks()))) {
		free, err := config.FreeSpace(f)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			checks = append(checks, unchecked(name, "look at it yourself", "the free space of %s cannot be read on this system", f))
		case err != nil:
			checks = append(checks, fail(name, "create the folder, or correct ledger and data_dir", err))
		default:
			checks = append(checks, diskCheck(f, free))
		}
	}
	return checks
}

// diskCheck judges the free space of a folder, in bytes.
func diskCheck(folder string, free uint64) Check {
	const name, remedy = "disk", "make room, or move ledger and data_dir to a larger disk"
	text := fmt.Sprintf("%d MiB are free in %s", free>>20, folder)
	switch {
	case free < diskFail:
		return Check{name, HealthFail, text, remedy}
	case free < diskWarn:
		return Check{name, HealthWarn, text, remedy}
	}
	return good(name, "%s", text)
}

// checkRedis runs the scripts of the limiter for each number, and asks for the policy and the
// persistence of the shared limits. A lost limit is safe, and stops sending for a moment
// (docs/limits.md#the-script).
func checkRedis(ctx context.Context, cfg *config.Config) []Check {
	const name = "redis"
	if cfg.Redis == "" {
		return []Check{good(name, "none: the limits are kept in the one process that sends")}
	}
	r, err := throttle.NewRedis(ctx, cfg.Redis, throttle.Options{})
	if err != nil {
		return []Check{fail(name, "check redis in the configuration, and that it runs", err)}
	}
	defer r.Close()
	f, err := r.Diagnose(ctx)
	for _, number := range append(slices.Sorted(maps.Keys(cfg.Numbers)), "") {
		if err == nil {
			err = r.Try(ctx, number)
		}
	}
	switch {
	case err != nil:
		return []Check{fail(name, "check redis in the configuration, and that it runs", err)}
	case f.Policy != "" && f.Policy != "noeviction":
		return []Check{warn(name, "set maxmemory-policy noeviction",
			"version %s with maxmemory-policy %s may evict limits: each time a number is silent for 400 ms", f.Version, f.Policy)}
	case !f.Persistent:
		return []Check{good(name, "version %s keeps nothing over a restart, which costs a moment of silence and no message twice", f.Version)}
	}
	return []Check{good(name, "version %s, append-only file, maxmemory-policy %s", f.Version, f.Policy)}
}

// checkEndpoint asks the service where it sends events, and posts nothing signed there: an intake
// answers 401. This machine cannot know whether the service reaches the endpoint too.
func checkEndpoint(ctx context.Context, cfg *config.Config) []Check {
	const name = "webhooks"
	if cfg.Role == config.RoleSender {
		return []Check{good(name, "role: sender takes none")}
	}
	if err := cfg.CanReceive(); err != nil {
		return []Check{{name, HealthWarn, err.Error(), "without webhooks no message of the service is ever known as delivered"}}
	}
	var checks []Check
	if cfg.Cloud.Configured() {
		checks = append(checks, unchecked(name, "send a message with `campaignd test`, and see that its status comes",
			"the Cloud API does not tell where it posts the events of its accounts"))
	}
	if cfg.Service.APIKey.IsZero() {
		return checks
	}
	client, err := config.NewClient(cfg)
	if err != nil {
		return checks // checkService tells it
	}
	defer client.Close()
	registered, err := client.Webhooks(ctx)
	if err != nil {
		return append(checks, unchecked(name, "`campaignd webhooks test --url URL` looks at an address",
			"the service does not list its endpoints: %s", messaging.Scrub(err.Error(), 200)))
	}
	if len(registered) == 0 {
		return append(checks, warn(name, "register the public address of listen.public with the path webhooks.path",
			"no endpoint is registered at the service"))
	}
	own := OwnEndpoints(cfg, registered)
	if len(own) == 0 {
		return append(checks, warn(name, "`campaignd webhooks register URL`, or correct webhooks.path",
			"no registered endpoint ends with %s (webhooks.path)", cfg.Webhooks.Path))
	}
	for _, address := range own {
		c := reach(ctx, name, address)
		if c.Health == HealthOK {
			c = takes(ctx, cfg, name, address)
		}
		checks = append(checks, c)
	}
	return checks
}

// takes posts a signed test event to an endpoint for each secret, as `webhooks test` does, and
// compares the ledger that took it with ours.
func takes(ctx context.Context, cfg *config.Config, name, address string) Check {
	tests, err := TestEndpoints(ctx, cfg, []string{address})
	if err != nil {
		return fail(name, "check webhooks in the configuration", err)
	}
	for _, t := range tests {
		switch {
		case !t.Taken:
			return fail(name, "give the process there the secret of webhooks.secrets, or register the address of this installation",
				fmt.Errorf("%s does not take an event that webhooks.secrets[%d] signs: %s", address, t.Secret, t.Answer))
		case t.Another != "":
			return fail(name, "let the address lead to this installation, or register its own", errors.New(t.Another))
		case t.Unknown != "":
			return unchecked(name, "see that events come (`campaignd doctor`, signatures)", "%s", t.Unknown)
		}
	}
	return good(name, "%s takes signed events into this ledger, seen from this machine; the service may see another network", address)
}

// reach posts an unsigned event to an endpoint.
func reach(ctx context.Context, name, url string) Check {
	const remedy = "start serve, and check DNS, certificate and proxy in front of listen.public"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return fail(name, "register an https address", err)
	}
	client := http.Client{Transport: direct(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil { // perhaps nothing serves yet, or only the outside reaches it
		return warn(name, remedy, "%s", messaging.Scrub(err.Error(), 300))
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4096)
	if resp.StatusCode != http.StatusUnauthorized {
		return Check{name, HealthFail, fmt.Sprintf("%s answers %s to an unsigned event; want 401", url, resp.Status), remedy}
	}
	return good(name, "%s refuses unsigned events, seen from this machine; the service may see another network", url)
}

// checkZones loads zones that changed lately, and the configured one. Europe/Kyiv is of the release
// 2022b, America/Coyhaique of 2025b (https://data.iana.org/time-zones/tzdb/NEWS).
func checkZones(_ context.Context, cfg *config.Config) []Check {
	const name, remedy = "time zones", "install tzdata, or unset ZONEINFO"
	for _, zone := range []string{"UTC", "Africa/Lagos", "Europe/Kyiv", cfg.Plan.Resets.Timezone} {
		if _, err := time.LoadLocation(zone); err != nil {
			return []Check{fail(name, remedy, err)}
		}
	}
	if _, err := time.LoadLocation("America/Coyhaique"); err != nil {
		return []Check{warn(name, remedy, "the zone data is older than release 2025b")}
	}
	return []Check{good(name, "the zone data is of release 2025b or newer")}
}
