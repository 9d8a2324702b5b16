package messaging

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
)

// Options configure a Client. BaseURL and APIKey are required.
type Options struct {
	// BaseURL is scheme and host of the service, without path and trailing slash.
	BaseURL string
	// AllowHTTP permits http to a host that is not this machine. The API key then
	// travels in clear; the real service answers http with 301.
	AllowHTTP bool
	APIKey    Secret
	// Timeout ends one exchange, from waiting for a connection to the last byte of the
	// answer; default 10 s. An earlier deadline of the caller's context wins.
	Timeout time.Duration
	// UserAgent; default campaignd/VERSION. The CDN refuses the agents of scripting libraries (seed 000, Authentication 6).
	UserAgent string
	// MaxInFlight is the number of requests that can run at once, and of connections kept;
	// default 256. A Send beyond it waits for a connection, within Timeout.
	MaxInFlight int
	// IdleTimeout closes a connection that nobody used; default 55 s: below the 60 s and 75 s
	// after which common load balancers close theirs, so that a request seldom meets a closing
	// connection, which would be doubt.
	IdleTimeout time.Duration
	// Proxy is an HTTP proxy to go through; default none. The environment's proxy
	// variables are not read: a proxy may repeat requests.
	Proxy *url.URL
	// ProvenRefusals lists answers that this service proves to be refusals although their
	// status (5xx, 408, 409, 499) says doubt.
	ProvenRefusals []StatusCode
	// Assumed replaces what we assume where the service's document shows nothing.
	Assumed Assumed
	// Transport replaces the tuned one, for tests. Of a transport that is not an *http.Transport
	// only a failed dial is believed to have written nothing.
	Transport http.RoundTripper
}

const (
	defaultTimeout     = 10 * time.Second
	defaultMaxInFlight = 256
	defaultIdleTimeout = 55 * time.Second
	uploadTimeout      = 2 * time.Minute // 16 MB of video (platform.md 7) at 1 Mbit/s

	maxAnswer  = 64 << 10 // bytes of a send's answer; the document's are below 1 KiB
	maxListing = 16 << 20 // bytes of a listing: 6,000 templates at 2 KiB
	maxID      = 256      // bytes of a messageId (reliability.md 1.4)
)

// withDefaults fills in what is zero, but for what has no default.
func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = defaultMaxInFlight
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdleTimeout
	}
	if o.UserAgent == "" {
		o.UserAgent = "campaignd/" + version()
	}
	return o
}

// NewTransport is the transport that a Client with these options makes for itself, for a
// program that measures something else on the same one. It fits only an Options without Transport.
func NewTransport(o Options) *http.Transport { return tuned(o.withDefaults()) }

// tuned is the transport of the hot path, by measurement (ecosystem.md 2.7): a pool as
// large as the requests in flight, HTTP/1.1 (a request has its connection for itself, so that what was written can be proven),
// no proxy and no compression unless asked for.
func tuned(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: min(5*time.Second, o.Timeout), KeepAlive: 15 * time.Second}
	t := &http.Transport{
		DialContext:         wireDialer(dialer.DialContext),
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: min(5*time.Second, o.Timeout),
		MaxConnsPerHost:     o.MaxInFlight,
		MaxIdleConnsPerHost: o.MaxInFlight,
		IdleConnTimeout:     o.IdleTimeout,
		DisableCompression:  true,
		Protocols:           new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	if o.Proxy != nil {
		t.Proxy = http.ProxyURL(o.Proxy)
	}
	return t
}

// checkBase refuses what would lead to a redirect, another host or a lost key.
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
	case u.Path == "/":
		return nil, fmt.Errorf("%q ends with a slash; the service answers a trailing slash with a redirect: remove it", s)
	case u.Path != "" || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(s, "?#"):
		return nil, fmt.Errorf("%q holds more than scheme and host; /api/v1 is added by campaignd", s)
	case u.Scheme == "http" && !allowHTTP && !loopback(u.Hostname()):
		return nil, fmt.Errorf("%q is not https; the service answers http with a redirect (301) and the key would travel in clear. Use https, or set allow_http for a test service", s)
	}
	return u, nil
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func visible(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// version is the module's, as the build recorded it.
func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(b.Main.Version, "v") {
		return strings.TrimPrefix(b.Main.Version, "v")
	}
	return "dev"
}
