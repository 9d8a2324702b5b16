package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"campaignd/internal/config"
)

// checkNotifications asks each address of notifications whether it responds, without sending it a
// notification. The address itself is a secret: only its host is shown.
func checkNotifications(ctx context.Context, cfg *config.Config) (checks []Check) {
	const name, remedy = "notifications", "correct its url, or start what listens there"
	transport := direct()
	transport.Proxy = http.ProxyFromEnvironment // as notifications are sent
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, destination := range slices.Sorted(maps.Keys(cfg.Notifications)) {
		address := cfg.Notifications[destination].URL.Reveal()
		req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
		if err != nil {
			checks = append(checks, fail(name, remedy, fmt.Errorf("notifications.%s.url is not an address", destination)))
			continue
		}
		resp, err := client.Do(req)
		if err != nil {
			checks = append(checks, fail(name, remedy, fmt.Errorf("%s (%s) does not respond: %w", destination, req.URL.Host, bare(err))))
			continue
		}
		_ = resp.Body.Close()
		checks = append(checks, answered(destination, req.URL.Host, resp.StatusCode))
	}
	return checks
}

// answered judges the answer to HEAD. Many receivers of notifications take POST alone.
func answered(destination, host string, status int) Check {
	const name = "notifications"
	if status == http.StatusNotFound || status == http.StatusGone || status >= 500 && status != http.StatusNotImplemented {
		return warn(name, "check its url; `campaignd notifications` has what it answers to notifications",
			"%s (%s) answers %d %s", destination, host, status, http.StatusText(status))
	}
	return good(name, "%s (%s) responds; whether it takes a notification, `campaignd notifications` shows", destination, host)
}

// bare is an error of a request without the address, which may be a secret.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
