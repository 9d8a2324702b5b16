package cloud

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// The throughput of a number in messages per second (docs/limits.md#throughput).
const (
	throughputStandard    = 80
	throughputHigh        = 1000
	throughputCoexistence = 20
)

// newTier is how many people a portfolio may reach in 24 hours before the platform raises its tier.
// A number without a tier counts with it (docs/limits.md#tier).
const newTier = 250

// numberFields are asked for, because the platform shows few fields unasked
// (docs/cloud.md#numbers).
const numberFields = "id,display_phone_number,quality_rating,throughput,whatsapp_business_manager_messaging_limit,is_on_biz_app,status"

// Connections lists the numbers of all accounts, in the order of their ids. A connection's company
// is its portfolio. The error names a number that two accounts have.
func (c *Client) Connections(ctx context.Context) ([]messaging.Connection, error) {
	lines, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]messaging.Connection, 0, len(lines))
	for _, l := range lines {
		out = append(out, messaging.Connection{ID: l.number.ConnectionID, Phone: l.number.Phone,
			CompanyID: l.account.portfolio(), AccountID: l.account.ID, Status: l.status, Files: l.id})
	}
	return out, nil
}

// Numbers lists the health of the numbers of all accounts.
func (c *Client) Numbers(ctx context.Context) ([]messaging.Number, error) {
	lines, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]messaging.Number, 0, len(lines))
	for _, l := range lines {
		out = append(out, l.number)
	}
	return out, nil
}

func (a *Account) portfolio() string {
	if a.Portfolio != "" {
		return a.Portfolio
	}
	return a.ID
}

// list returns the numbers of all accounts, and replaces what is known of them. While the platform
// throttles management calls, or another process asks, the last listing stays in use.
func (c *Client) list(ctx context.Context) ([]*line, error) {
	lines, ids := map[string]*line{}, map[string]*line{}
	for i := range c.o.Accounts {
		account := &c.o.Accounts[i]
		of, err := c.numbersOf(ctx, account, time.Time{})
		if err != nil {
			return nil, messaging.NamedBy(fmt.Errorf("account %s: %w", account.ID, err), account.ID)
		}
		for _, l := range of {
			if other := ids[l.id]; other != nil && other.account != account {
				return nil, messaging.NamedBy(fmt.Errorf("number %s is in account %s and in account %s: take one of them out of cloud.accounts",
					l.id, other.account.ID, account.ID), l.id, other.account.ID, account.ID)
			}
			ids[l.id], lines[l.number.ConnectionID] = l, l
		}
	}
	c.mu.Lock()
	c.lines = lines
	c.mu.Unlock()
	return inOrder(lines), nil
}

func inOrder(lines map[string]*line) []*line {
	return slices.SortedFunc(maps.Values(lines), func(a, b *line) int {
		return strings.Compare(a.number.ConnectionID, b.number.ConnectionID)
	})
}

// numbersOf returns the numbers of one account. An answer from before since is asked for again.
func (c *Client) numbersOf(ctx context.Context, account *Account, since time.Time) ([]*line, error) {
	q := c.numbersQuestion(account)
	q.since = since
	of, err := ask(ctx, c, &c.numbers, q, c.numbersReader(account))
	if tells := c.numbers.get(q.name()).tells; err == nil && !tells.IsZero() {
		c.learn(account.ID, of, tells)
	}
	return of, err
}

func (c *Client) numbersQuestion(account *Account) question {
	return question{account: account.ID, edge: "phone_numbers", query: url.Values{"fields": {numberFields}},
		age:   func(int) time.Duration { return numbersAge },
		older: func(err error) bool { return throttled(err) || errors.Is(err, ErrAsked) }}
}

func (c *Client) numbersReader(account *Account) func([]rawjson.Value) ([]*line, error) {
	return func(records []rawjson.Value) (of []*line, err error) {
		for _, v := range records {
			l := c.lineOf(account, v)
			if !digits(l.id) || l.number.Phone == "" {
				return nil, messaging.BadAnswer(http.StatusOK, "",
					"GET "+account.ID+"/phone_numbers: a number has no id or no display_phone_number", nil)
			}
			of = append(of, l)
		}
		assumeTiers(of)
		return of, nil
	}
}

// assumeTiers gives the numbers of an account for which the platform tells no tier the tier of
// their account, as far as another number tells it: the numbers of a portfolio share it. Otherwise
// they have the tier of a new number, because nobody would be counted without one.
func assumeTiers(of []*line) {
	shared, told := int64(0), false
	for _, l := range of {
		if n := l.number.TierLimit; n == messaging.Unlimited || n > shared && shared != messaging.Unlimited {
			shared, told = n, true
		}
	}
	for _, l := range of {
		if n := &l.number; n.TierLimit == 0 {
			n.TierLimit, n.TierAssumed = newTier, !told
			if told {
				n.TierLimit = shared
			}
		}
	}
}

// lineOf reads one record of phone_numbers.
func (c *Client) lineOf(account *Account, v rawjson.Value) *line {
	l := &line{account: account, id: v.Get("id").Text(), status: strings.ToUpper(v.Get("status").Text())}
	n := messaging.Number{ConnectionID: c.connection(l.id), Phone: international(v.Get("display_phone_number").Text()),
		Quality: strings.ToUpper(v.Get("quality_rating").Text()), Tier: v.Get("whatsapp_business_manager_messaging_limit").Text()}
	n.TierLimit = messaging.TierLimit(n.Tier)
	n.Coexistence, _ = v.Get("is_on_biz_app").Bool()
	switch n.Level = strings.ToUpper(v.Get("throughput").Get("level").Text()); n.Level {
	case "STANDARD":
		n.Throughput = throughputStandard
	case "HIGH":
		n.Throughput = throughputHigh
	}
	if n.Coexistence {
		n.Throughput = throughputCoexistence
	}
	l.number = n
	return l
}

// connection is the connection id of a phone_number_id: its name, else the id itself.
func (c *Client) connection(id string) string {
	if name, ok := c.named[id]; ok {
		return name
	}
	return id
}

// international is a display_phone_number in E.164: the platform writes it with blanks and signs,
// with or without + in front.
func international(display string) string {
	plain := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, display)
	if plain == "" {
		return ""
	}
	return "+" + plain
}

// of returns what is known of a connection. The first question about an unknown one lists the
// numbers.
func (c *Client) of(ctx context.Context, connection string) (*line, error) {
	if l := c.known(connection); l != nil {
		return l, nil
	}
	if _, err := c.list(ctx); err != nil {
		return nil, err
	}
	if l := c.known(connection); l != nil {
		return l, nil
	}
	return nil, messaging.NamedBy(fmt.Errorf("connection %s: no account of cloud.accounts has such a number",
		messaging.Token(connection)), connection)
}

func (c *Client) known(connection string) *line {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.lines[connection]
}

// Owns reports whether an account has the connection. It lists the numbers if that was never done.
func (c *Client) Owns(ctx context.Context, connection string) (bool, error) {
	if _, named := c.o.Names[connection]; named || c.known(connection) != nil {
		return true, nil
	}
	c.mu.RLock()
	listed := c.lines != nil
	c.mu.RUnlock()
	if listed {
		return false, nil
	}
	if _, err := c.list(ctx); err != nil {
		return false, err
	}
	return c.known(connection) != nil, nil
}
