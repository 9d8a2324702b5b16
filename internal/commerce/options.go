package commerce

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"campaignd/internal/secret"
	"campaignd/internal/version"
)

// Options configure a Client. BaseURL and Company are required, and one of APIKey and AccessToken.
type Options struct {
	// BaseURL is scheme and host of the platform, without a path. It is https, or http on this
	// machine.
	BaseURL string
	// Company is the id of the company, and Shop the id of one of its shops; without a shop the
	// records of all are meant.
	Company, Shop string
	// APIKey is a key of the company's own. AccessToken is what the installation gave.
	APIKey, AccessToken secret.Value
	// Rate is the most requests per second. Default 5.
	Rate float64
	// Timeout is the longest time of one exchange. Default 10 s.
	Timeout time.Duration
	// Assumed replaces assumptions where the document of the platform shows nothing.
	Assumed Assumed
	// Log gets a line when the rate changes or a list stays incomplete. Default: none.
	Log *slog.Logger
	// Transport replaces the transport, for tests.
	Transport http.RoundTripper
}

const (
	defaultRate    = 5
	defaultTimeout = 10 * time.Second
	maxRate        = 1000
)

// CheckBase refuses an address that is not scheme and host alone, or over which the key would
// travel unencrypted to another machine.
func CheckBase(s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return errors.New("missing; give the platform's address, such as https://api.example.com")
	case err != nil:
		return errors.New("not a URL; give scheme and host, such as https://api.example.com")
	case u.User != nil:
		return errors.New("holds a user name; the key goes into api_key")
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return fmt.Errorf("%q is not an address such as https://api.example.com", s)
	case u.Path != "" || strings.ContainsAny(s, "?#"):
		return fmt.Errorf("%q holds more than scheme and host; the paths are added by campaignd", s)
	case u.Scheme == "http" && !secret.Loopback(u.Hostname()):
		return fmt.Errorf("%q is not https, and the key would travel unencrypted", s)
	}
	return nil
}

// CheckID refuses an id of a company or a shop that a header or a path cannot hold.
func CheckID(id string) error {
	if len(id) > 64 || strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return errors.New("is not an id such as 01J8ZC0V6Q0000000000000000")
	}
	return nil
}

// CheckSecret refuses a key or a token that a header cannot hold. The error does not contain it.
func CheckSecret(s secret.Value) error {
	if strings.ContainsFunc(s.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("holds a blank, a line break or a letter outside ASCII: check that it was copied whole and alone")
	}
	return nil
}

// check returns the first fault, with the name of the option.
func (o Options) check() error {
	if err := CheckBase(o.BaseURL); err != nil {
		return fmt.Errorf("base_url: %w", err)
	}
	for _, id := range []struct{ key, value string }{{"company", o.Company}, {"shop", o.Shop}} {
		if err := CheckID(id.value); err != nil {
			return fmt.Errorf("%s: %q %w", id.key, id.value, err)
		}
	}
	for _, s := range []struct {
		key   string
		value secret.Value
	}{{"api_key", o.APIKey}, {"access_token", o.AccessToken}} {
		if err := CheckSecret(s.value); err != nil {
			return fmt.Errorf("%s: %w", s.key, err)
		}
	}
	switch {
	case o.Company == "":
		return errors.New("company: missing; give the id of the company")
	case !o.APIKey.IsZero() && !o.AccessToken.IsZero():
		return errors.New("api_key and access_token: give one of them")
	case o.Rate < 0 || o.Rate > maxRate:
		return fmt.Errorf("rate: %v is out of bounds; give more than 0 and at most %d requests per second", o.Rate, maxRate)
	case o.Timeout < 0:
		return fmt.Errorf("timeout: %v is negative", o.Timeout)
	}
	if err := o.Assumed.Validate(); err != nil {
		return fmt.Errorf("assumed.%w", err)
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Rate = cmp.Or(o.Rate, defaultRate)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Assumed = o.Assumed.WithDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = transport(o.Timeout)
	}
	return o
}

// transport returns one that uses no proxy of the environment, as messages have none.
func transport(timeout time.Duration) *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: min(5*time.Second, timeout), KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: min(5*time.Second, timeout),
		IdleConnTimeout:     55 * time.Second,
		MaxIdleConnsPerHost: 8,
	}
}

func userAgent() string { return "campaignd/" + strings.Trim(version.String(), "v()") }
