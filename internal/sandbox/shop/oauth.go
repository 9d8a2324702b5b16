package shop

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// granted is the answer of a token exchange.
type granted struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
}

// form is a form-encoded body.
type form struct{ url.Values }

// exchange is POST /oauth/token and POST /oauth/2023-11/token. A code works once.
func (p *Platform) exchange(_ *call, in form) (granted, error) {
	if grant := in.Get("grant_type"); grant != "authorization_code" {
		return granted{}, say(http.StatusBadRequest, "grant_type is not authorization_code")
	}
	a := p.apps[in.Get("client_id")]
	if a == nil || subtle.ConstantTimeCompare([]byte(a.ClientSecret), []byte(in.Get("client_secret"))) != 1 {
		return granted{}, refuse(http.StatusUnauthorized, "Invalid client")
	}
	if a.RedirectURI != "" && in.Get("redirect_uri") != a.RedirectURI {
		return granted{}, say(http.StatusBadRequest, "redirect_uri is not the application's")
	}
	company := a.codes[in.Get("code")]
	if company == nil {
		return granted{}, say(http.StatusBadRequest, "The code is unknown or was used")
	}
	if err := p.room.Take(); err != nil {
		return granted{}, err
	}
	delete(a.codes, in.Get("code"))
	token := rand.Text()
	p.tokens[token] = &credential{company: company, kind: admin}
	return granted{token, "Bearer"}, nil
}

// takeForm is the action of a route with a form-encoded body.
func takeForm[Out any](do func(*Platform, *call, form) (Out, error)) action {
	out := take(func(*Platform, *call, form) (Out, error) { panic("the form is read below") })
	out.run = func(p *Platform, c *call, raw []byte) (any, error) {
		kind, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
		values, err := url.ParseQuery(string(raw))
		if err != nil || kind != "application/x-www-form-urlencoded" {
			return nil, say(http.StatusBadRequest, "The body is not form-encoded")
		}
		return do(p, c, form{values})
	}
	return out
}

// installation is the body of POST /sandbox/commerce/install: a company installs an application.
type installation struct {
	ClientID   string `json:"client_id"`
	Company    string `json:"company"`
	RedirectTo string `json:"redirect_to"`
}

// callback is the address of the application, with the parameters of the installation.
type callback struct {
	Data struct {
		URL string `json:"url"`
	} `json:"data"`
}

// install answers with the signed callback of an installation. Its code can be exchanged once.
func (p *Platform) install(c *call, in installation) (callback, error) {
	var out callback
	a, company := p.apps[in.ClientID], p.company[in.Company]
	var f flaws
	if a == nil {
		f.add("client_id", "No application has this client_id.")
	}
	if company == nil {
		f.add("company", "No company has this id.")
	}
	if err := f.err(); err != nil {
		return out, err
	}
	to, err := url.Parse(a.RedirectURI)
	if err != nil || to.Host == "" {
		return out, invalid("client_id", "The application has no redirect_uri.")
	}
	if err := p.room.Take(); err != nil {
		return out, err
	}
	code := rand.Text()
	a.codes[code] = company
	query := to.Query()
	query.Set("company_id", company.ID)
	query.Set("code", code)
	query.Set("timestamp", strconv.FormatInt(time.Now().Unix(), 10))
	query.Set("redirect_to", in.RedirectTo)
	query.Set("hmac", sign(query, a.ClientSecret))
	to.RawQuery = query.Encode()
	out.Data.URL = to.String()
	return out, nil
}

// sign is the hex HMAC-SHA256 by the application's secret over the decoded parameters other than
// hmac, sorted, each as k=v, joined by & (docs/commerce.md#assumptions).
func sign(query url.Values, secret string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(query)) {
		if k != "hmac" {
			parts = append(parts, k+"="+query.Get(k))
		}
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.Join(parts, "&")))
	return hex.EncodeToString(mac.Sum(nil))
}
