package cloud

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// Client calls the Cloud API for the numbers of its accounts. It is safe for concurrent use.
type Client struct {
	exchange *messaging.Exchange
	o        Options
	base     url.URL
	named    map[string]string // connection id by phone_number_id
	shelf    Shelf

	numbers   listings[[]*line]
	layouts   listings[[]messaging.TemplateRecord] // by template
	templates listings[[]messaging.TemplateRecord] // all of an account

	mu     sync.RWMutex
	owners owners
	lines  map[string]*line   // by connection id; nil before the first listing
	access map[string]access  // by account id
	failed map[string]failure // by question.turn
}

// access is what the requests of an account show.
type access struct {
	token messaging.Secret
	proof string // appsecret_proof; "" without the secret of the app
}

func accessOf(token, app messaging.Secret) access {
	a := access{token: token}
	if !app.IsZero() {
		mac := hmac.New(sha256.New, []byte(app.Reveal()))
		mac.Write([]byte(token.Reveal()))
		a.proof = hex.EncodeToString(mac.Sum(nil))
	}
	return a
}

// line is what is known of one number.
type line struct {
	account *Account
	id      string // its phone_number_id
	number  messaging.Number
	status  string
}

// New checks the options and returns a Client. An error names the option.
func New(o Options) (*Client, error) {
	if err := o.Validate(time.Now()); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	base, err := checkBase(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	c := &Client{
		exchange: messaging.NewExchange(messaging.ExchangeOptions{Base: base, Timeout: o.Timeout, MaxInFlight: o.MaxInFlight,
			IdleTimeout: idleTimeout, Dial: o.Dial, Transport: o.Transport}),
		o: o, base: *base, named: map[string]string{}, access: map[string]access{},
		shelf: Unshared{}, failed: map[string]failure{},
		numbers:   listings[[]*line]{asking: make(chan struct{}, 1)},
		layouts:   listings[[]messaging.TemplateRecord]{asking: make(chan struct{}, 1)},
		templates: listings[[]messaging.TemplateRecord]{asking: make(chan struct{}, 1)},
	}
	c.owners = owners{accounts: map[string]string{}, ids: map[int64]string{},
		listed: map[string]time.Time{}, seen: map[string]time.Time{}, tried: map[string]time.Time{}}
	for name, id := range o.Names {
		c.named[id] = name
		c.owners.connections = append(c.owners.connections, name)
	}
	slices.Sort(c.owners.connections)
	for i := range o.Accounts {
		c.access[o.Accounts[i].ID] = accessOf(o.Accounts[i].Token, o.Accounts[i].AppSecret)
	}
	return c, nil
}

// Share makes the client share its listings with other processes. It is called before goroutines
// use the client.
func (c *Client) Share(s Shelf) { c.shelf = s }

// SetSecrets replaces the token and the app's secret of an account for the requests that begin from
// now on. It reports whether one of them is another one.
func (c *Client) SetSecrets(account string, token, app messaging.Secret) (changed bool, err error) {
	if token.IsZero() || !messaging.Visible(token.Reveal()) {
		return false, fmt.Errorf("account %s: the token is empty or holds a character that no token has", account)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, ok := c.access[account]
	if !ok {
		return false, fmt.Errorf("account %s: it is not one that this process began with", account)
	}
	now := accessOf(token, app)
	c.access[account] = now
	clear(c.failed)
	return before.token.Reveal() != token.Reveal() || before.proof != now.proof, nil
}

// String returns the name of the host. It never shows a token.
func (c *Client) String() string { return "cloud client of " + c.base.Host }

// GoString is String.
func (c *Client) GoString() string { return c.String() }

// Close closes the idle connections. The Client can still be used.
func (c *Client) Close() { c.exchange.Close() }

// Clock returns the time by the clock of the other side; false: it has not answered.
func (c *Client) Clock() (time.Time, bool) { return c.exchange.Clock() }

// Warm makes a connection for messages if there is none. It blocks for at most Options.Timeout.
func (c *Client) Warm(ctx context.Context) error { return c.exchange.Warm(ctx) }

// accessTo is what the requests of an account show now.
func (c *Client) accessTo(account string) access {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.access[account]
}

// request returns a request without a body to /VERSION/path. Each has the proof of the app's
// secret, which an app may require (docs/cloud.md#connecting).
func (c *Client) request(ctx context.Context, account, method, path string, query url.Values) *http.Request {
	return c.requestOf(ctx, account, method, path, query.Encode())
}

func (c *Client) requestOf(ctx context.Context, account, method, path, query string) *http.Request {
	shown := c.accessTo(account)
	if shown.proof != "" {
		query = strings.TrimPrefix(query+"&appsecret_proof="+shown.proof, "&")
	}
	u := c.base
	u.Path, u.RawQuery = "/"+c.o.Version+"/"+path, query
	r := &http.Request{
		Method: method, URL: &u, Host: u.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Authorization": {"Bearer " + shown.token.Reveal()},
			"User-Agent":    {c.o.UserAgent},
			"Accept":        {"application/json"},
		},
	}
	return r.WithContext(ctx)
}

// call makes one exchange that sends no message. An error is a *messaging.Error; its Proof is
// NotSent.
func (c *Client) call(ctx context.Context, timeout time.Duration, account string, req *http.Request) (rawjson.Value, error) {
	a, failure := c.exchange.Ask(ctx, timeout, req)
	if failure != nil {
		return nil, failure
	}
	if !a.Accepted() {
		e := c.refused(&a, account)
		if e.Proof == messaging.Doubt {
			e.Proof, e.Action = messaging.NotSent, messaging.RetryLater
		}
		return nil, e
	}
	v, err := rawjson.Parse(a.Body)
	if err = errors.Join(a.Err, err); err != nil {
		return nil, messaging.BadAnswer(a.Status, a.RequestID(), req.Method+" "+req.URL.Path, err)
	}
	return v, nil
}

// refused classifies an answer outside 2xx.
func (c *Client) refused(a *messaging.Answer, account string) *messaging.Error {
	reading := messaging.Reading{CodeDecides: true, IDs: c.ids()}
	return reading.Refusal(a, c.accessTo(account).token)
}

// ids are the ids of the accounts, their apps and the numbers, which an operator has to recognise.
func (c *Client) ids() (all []string) {
	for i := range c.o.Accounts {
		all = append(all, c.o.Accounts[i].ID, c.o.Accounts[i].App)
	}
	for id := range c.named {
		all = append(all, id)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, l := range c.lines {
		all = append(all, l.id)
	}
	return all
}

// pages returns every record of a listing, and how many calls it took. A listing whose cursor has
// become invalid (131059) is begun again, once.
func (c *Client) pages(ctx context.Context, account, path string, query url.Values) (records []rawjson.Value, calls int, err error) {
	for again := false; ; again = true {
		records, err = c.eachPage(ctx, account, path, query, &calls)
		var e *messaging.Error
		if again || !errors.As(err, &e) || e.Platform != codeCursor {
			return records, calls, err
		}
	}
}

// codeCursor is the platform's code of a cursor that is not valid any more (131059).
const codeCursor = 131059

// maxPages bounds a listing: 6,000 templates by 100 are 60 pages.
const maxPages = 500

func (c *Client) eachPage(ctx context.Context, account, path string, query url.Values, calls *int) (records []rawjson.Value, err error) {
	next := url.Values{}
	maps.Copy(next, query)
	for seen := (map[string]bool{}); len(seen) < maxPages; {
		*calls++
		v, err := c.call(ctx, c.o.Timeout, account, c.request(ctx, account, http.MethodGet, path, next))
		if err != nil {
			return nil, err
		}
		data := v.Get("data")
		if !data.IsArray() {
			return nil, messaging.BadAnswer(http.StatusOK, "", "GET "+path+": the answer has no array data", nil)
		}
		for m := data.Members(); m.Next(); {
			records = append(records, m.Val)
		}
		// The last page may have a cursor and no next.
		paging := v.Get("paging")
		after := paging.Get("cursors").Get("after").Text()
		if paging.Get("next").Text() == "" || after == "" {
			return records, nil
		}
		if seen[after] {
			return nil, messaging.BadAnswer(http.StatusOK, "", "GET "+path+": the listing repeats its cursor", nil)
		}
		seen[after] = true
		next.Set("after", after)
	}
	return nil, messaging.BadAnswer(http.StatusOK, "", fmt.Sprintf("GET %s: the listing has more than %d pages", path, maxPages), nil)
}

// textOf writes records as pages reads them, with the number of calls.
func textOf(records []rawjson.Value, calls int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"calls":%d,"data":[`, calls)
	for i, r := range records {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(r)
	}
	b.WriteString("]}")
	return b.String()
}
