package commerce

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/secret"
)

// Application is an application that a company installs: the platform gives its id and its secret
// (docs/commerce.md#installation).
type Application struct {
	ClientID     string
	ClientSecret secret.Value
	// RedirectURI is the address that the platform calls back, as it is registered there.
	RedirectURI string
}

// Callback is a verified callback of the platform after an installation.
type Callback struct {
	Code secret.Value
	// RedirectTo is where the person who installed the application goes next; "" for nowhere. It is
	// https, or http on this machine.
	RedirectTo string
}

// MaxCallbackAge is how far the time of a callback may be from now.
const MaxCallbackAge = 5 * time.Minute

// Callback verifies the parameters of a callback for a company, in this order: hmac, time, company,
// code (docs/commerce.md#installation). The error is an *Error.
func (a Application) Callback(query, company string, now time.Time) (Callback, error) {
	values, err := url.ParseQuery(query)
	if err != nil || len(query) > maxAddress {
		return Callback{}, &Error{Code: CodeCallbackForged}
	}
	given := values["hmac"]
	if len(given) == 0 || given[0] == "" {
		return Callback{}, &Error{Code: CodeCallbackUnsigned}
	}
	signed := make([]string, 0, len(values))
	for name, all := range values {
		if len(all) != 1 { // which of them the signature is for would be open
			return Callback{}, &Error{Code: CodeCallbackForged}
		}
		if name != "hmac" {
			signed = append(signed, name+"="+all[0])
		}
	}
	slices.Sort(signed)
	got, err := hex.DecodeString(given[0])
	if err != nil || a.ClientSecret.IsZero() || !hmac.Equal(got, hmacOf(a.ClientSecret, []byte(strings.Join(signed, "&")))) {
		return Callback{}, &Error{Code: CodeCallbackForged}
	}
	seconds, err := strconv.ParseInt(values.Get("timestamp"), 10, 64)
	if age := now.Sub(time.Unix(seconds, 0)).Abs(); err != nil || age > MaxCallbackAge {
		return Callback{}, &Error{Code: CodeCallbackStale}
	}
	if values.Get("company_id") != company {
		return Callback{}, &Error{Code: CodeCallbackCompany}
	}
	c := Callback{Code: secret.New(values.Get("code"))}
	if c.Code.IsZero() {
		return Callback{}, &Error{Code: CodeCallbackNoCode}
	}
	if to, err := url.Parse(values.Get("redirect_to")); err == nil && to.User == nil &&
		(to.Scheme == "https" && to.Host != "" || to.Scheme == "http" && secret.Loopback(to.Hostname())) {
		c.RedirectTo = to.String()
	}
	return c, nil
}

// Exchange exchanges the code of a callback for an access token. A code works once, so the request
// is never repeated. The error has CodeExchangeRefused if the platform refuses the code.
func (c *Client) Exchange(ctx context.Context, a Application, code secret.Value) (secret.Value, error) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code.Reveal()}, "client_id": {a.ClientID},
		"client_secret": {a.ClientSecret.Reveal()}, "redirect_uri": {a.RedirectURI},
	}
	q := call{method: http.MethodPost, route: "/oauth/token", path: "/oauth/token", scope: oauth,
		contentType: "application/x-www-form-urlencoded", body: []byte(form.Encode())}
	var answer struct {
		AccessToken secret.Value `json:"access_token"`
	}
	err := c.do(ctx, q, &answer)
	var e *Error
	if errors.As(err, &e) && e.Status >= 400 && e.Status < 500 && e.Code != CodeRateLimited {
		e.Code = CodeExchangeRefused
	}
	if err == nil && (answer.AccessToken.IsZero() || CheckSecret(answer.AccessToken) != nil) {
		err = q.fault(CodeBadAnswer)
	}
	if err != nil {
		return secret.Value{}, err
	}
	return answer.AccessToken, nil
}
