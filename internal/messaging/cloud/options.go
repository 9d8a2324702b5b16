package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/secret"
	"campaignd/internal/version"
)

// Host is the public address of the API.
const Host = "https://graph.facebook.com"

// DefaultVersion is the version of the API that this package was written for. It ends on 29 July
// 2028 (https://developers.facebook.com/docs/graph-api/changelog/versions).
const DefaultVersion = "v25.0"

// Options configure a Client. Accounts is required.
type Options struct {
	// BaseURL is the scheme and the host. Default Host. http is for this machine only.
	BaseURL string
	// Version is the pinned version of the API, such as v25.0. Default DefaultVersion.
	Version  string
	Accounts []Account
	// Names gives numbers other connection ids than their phone_number_id: from the name to the
	// phone_number_id.
	Names map[string]string
	// Timeout is the longest time of one exchange, from the wait for a connection to the last byte of
	// the answer. Default 10 s.
	Timeout time.Duration
	// MaxInFlight is the number of messages that are under way at once. Default 256.
	MaxInFlight int
	// UserAgent is the header of every request. Default campaignd/VERSION.
	UserAgent string
	// Dial makes the connections; default: a net.Dialer with a time-out of 5 s. Tests replace it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Transport replaces the tuned transport, for tests.
	Transport http.RoundTripper
}

// Account is one business account of the platform.
type Account struct {
	// ID is the account's id, in digits.
	ID string
	// Token is the access token of a system user of the account.
	Token messaging.Secret
	// AppSecret is the secret of the app that the token is of. Every call then proves it. Default: no
	// call does.
	AppSecret messaging.Secret
	// Portfolio is shared by the accounts of one business, which share one tier. Default: the account
	// is its own.
	Portfolio string
	// App is the id of the app, in digits, to which the files of template headers are uploaded.
	// Default: none can be.
	App string
	// MarketingAPI sends MARKETING templates by /marketing_messages in place of /messages.
	MarketingAPI bool
}

const (
	defaultTimeout     = 10 * time.Second
	defaultMaxInFlight = 256
	idleTimeout        = 55 * time.Second // as the service's client (docs/protocol.md#posting)
	uploadTimeout      = 2 * time.Minute
)

// versionEnds has the last day of each version whose end is announced. v26.0 is out since 29 July
// 2026, and its end is not announced.
var versionEnds = map[string]time.Time{DefaultVersion: time.Date(2028, time.July, 29, 0, 0, 0, 0, time.UTC)}

var versionForm = regexp.MustCompile(`^v([1-9][0-9]{0,2})\.0$`)

// CheckVersion refuses a version that is malformed, older than DefaultVersion, or ended at now.
func CheckVersion(v string, now time.Time) error {
	m := versionForm.FindStringSubmatch(v)
	if m == nil {
		return fmt.Errorf("%q is not a version of the API; write it as %s", v, DefaultVersion)
	}
	oldest, _ := strconv.Atoi(versionForm.FindStringSubmatch(DefaultVersion)[1])
	if n, _ := strconv.Atoi(m[1]); n < oldest {
		return fmt.Errorf("%s is older than %s, for which this program was written: use %[2]s", v, DefaultVersion)
	}
	if end, ok := VersionEnd(v); ok && !now.Before(end.AddDate(0, 0, 1)) {
		return fmt.Errorf("%s ended on %s: use a later version", v, end.Format(time.DateOnly))
	}
	return nil
}

// VersionEnd returns the last day of a version, if it is announced.
func VersionEnd(v string) (end time.Time, ok bool) {
	end, ok = versionEnds[v]
	return end, ok
}

// Validate checks what does not need the platform. An error names the option.
func (o Options) Validate(now time.Time) error {
	if o.BaseURL != "" {
		if _, err := checkBase(o.BaseURL); err != nil {
			return fmt.Errorf("base_url: %w", err)
		}
	}
	if o.Version != "" {
		if err := CheckVersion(o.Version, now); err != nil {
			return fmt.Errorf("version: %w", err)
		}
	}
	if len(o.Accounts) == 0 {
		return errors.New("accounts: empty; name at least one business account with its id and token_file")
	}
	seen := map[string]bool{}
	for i, a := range o.Accounts {
		at := fmt.Sprintf("accounts[%d]", i)
		switch {
		case !digits(a.ID):
			return fmt.Errorf("%s.id: %q is no id of a business account, which has digits only", at, messaging.Token(a.ID))
		case seen[a.ID]:
			return fmt.Errorf("%s.id: %s is there twice", at, a.ID)
		case a.App != "" && !digits(a.App):
			return fmt.Errorf("%s.app_id: %q is no id of an app, which has digits only", at, messaging.Token(a.App))
		case a.Token.IsZero():
			return fmt.Errorf("%s.token_file: no access token; write the token of a system user into that file", at)
		case !messaging.Visible(a.Token.Reveal()):
			return fmt.Errorf("%s.token_file: the token holds a space, a line break or another character that no token has", at)
		}
		seen[a.ID] = true
	}
	ids := map[string]string{}
	for name, id := range o.Names {
		switch {
		case !digits(id):
			return fmt.Errorf("names.%s: %q is no phone_number_id, which has digits only", name, messaging.Token(id))
		case ids[id] != "":
			pair := []string{name, ids[id]}
			slices.Sort(pair)
			return fmt.Errorf("names: %s and %s name the same number %s", pair[0], pair[1], id)
		case digits(name) && name != id:
			return fmt.Errorf("names.%s: a name of digits only could be the id of another number", name)
		}
		ids[id] = name
	}
	if strings.ContainsAny(o.UserAgent, "\r\n") {
		return errors.New("user_agent: holds a line break")
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.BaseURL = cmp.Or(o.BaseURL, Host)
	o.Version = cmp.Or(o.Version, DefaultVersion)
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = defaultMaxInFlight
	}
	o.UserAgent = cmp.Or(o.UserAgent, "campaignd/"+strings.Trim(version.String(), "v()"))
	return o
}

func checkBase(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("not a URL with scheme and host, such as %s", Host)
	case !messaging.Visible(u.Host):
		return nil, fmt.Errorf("%q has a host outside ASCII; write it in the form that begins with xn--", s)
	case u.User != nil:
		return nil, errors.New("holds a user name; the token goes into accounts[].token_file")
	case u.Path != "" || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(s, "?#"):
		return nil, fmt.Errorf("%q holds more than scheme and host; the version is added by campaignd", s)
	case u.Scheme == "http" && !secret.Loopback(u.Hostname()):
		return nil, fmt.Errorf("%q is not https, and the token would travel in clear: http is for this machine only", s)
	}
	return u, nil
}

// digits reports whether s is an id of the platform: 1 to 32 digits.
func digits(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "0123456789") == ""
}
