package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/secret"
	"campaignd/internal/version"
)

// Options configure a Client. BaseURL and APIKey are required. New refuses a negative Timeout and a
// negative MaxInFlight.
type Options struct {
	// BaseURL is the scheme and the host of the service, without a path and without a slash at the
	// end.
	BaseURL string
	// AllowHTTP permits http to a host that is not this machine. The API key then travels unencrypted;
	// the real service answers http with 301. Default false.
	AllowHTTP bool
	// APIKey is the key of the service, without spaces and line breaks.
	APIKey messaging.Secret
	// Timeout is the longest time of one exchange, from the wait for a connection to the last byte of
	// the answer. Default 10 s. An earlier deadline of the caller's context applies instead.
	Timeout time.Duration
	// UserAgent is the header of every request. Default campaignd/VERSION. The CDN of the service
	// refuses the agents of scripting libraries (docs/service.md#authentication).
	UserAgent string
	// MaxInFlight is the number of requests that can run at once, and of connections that are kept.
	// Default 256. A Send beyond it waits for a connection, within Timeout.
	MaxInFlight int
	// IdleTimeout closes a connection that was not used. Default 55 s: common load balancers close
	// theirs after 60 s or 75 s, and a request on a connection that is being closed would end as a
	// doubt.
	IdleTimeout time.Duration
	// ProvenRefusals lists answers that are known to be refusals although their status (5xx, 408, 409,
	// 499) means doubt. Default none.
	ProvenRefusals []messaging.StatusCode
	// Assumed replaces assumptions where the document of the service shows nothing.
	Assumed Assumed
	// Dial makes the connections; default: a net.Dialer with a time-out of 5 s. Tests replace it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Transport replaces the tuned transport and its connections, for tests. With it only a failed
	// dial proves that nothing was written.
	Transport http.RoundTripper
}

const (
	defaultTimeout     = 10 * time.Second
	defaultMaxInFlight = 256
	defaultIdleTimeout = 55 * time.Second
	uploadTimeout      = 2 * time.Minute // 16 MB of video at 1.1 Mbit/s, 100 MB of a document at 7 (docs/service.md#media)
)

// withDefaults sets the zero fields that have a default.
func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, defaultMaxInFlight)
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdleTimeout
	}
	o.UserAgent = cmp.Or(o.UserAgent, "campaignd/"+strings.Trim(version.String(), "v()"))
	return o
}

// checkBase refuses a base URL that would lead to a redirect or to another host, or would give the
// key away.
func checkBase(s string, allowHTTP bool) (*url.URL, error) {
	if s == "" {
		return nil, errors.New("missing; give the service's address, such as https://api.example.com")
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("not a URL; give scheme and host, such as https://api.example.com")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q does not begin with https:// (or http:// for this machine)", s)
	case u.User != nil:
		return nil, errors.New("holds a user name; the key goes into api_key")
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q names no host", s)
	case !messaging.Visible(u.Host):
		return nil, fmt.Errorf("%q has a host outside ASCII; write it in the form that begins with xn--", s)
	case u.Path == "/":
		return nil, fmt.Errorf("%q ends with a slash; the service answers a trailing slash with a redirect: remove it", s)
	case u.Path != "" || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(s, "?#"):
		return nil, fmt.Errorf("%q holds more than scheme and host; /api/v1 is added by campaignd", s)
	case u.Scheme == "http" && !allowHTTP && !secret.Loopback(u.Hostname()):
		return nil, fmt.Errorf("%q is not https; the service answers http with a redirect (301) and the key would travel in clear. "+
			"Use https, or set allow_http for a test service", s)
	}
	return u, nil
}
